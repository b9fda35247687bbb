package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// world is a server, a client of it, a namespace that nobody else uses, and the connections between them.
type world struct {
	config    *rest.Config
	client    kubernetes.Interface
	namespace string
	wires     *wires
	answers   *answers
}

func open(ctx context.Context, kubeconfig string) (*world, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	w := &world{config: config, wires: &wires{}, answers: &answers{}}
	config.QPS, config.Burst = 500, 500
	config.Dial = w.wires.dial
	config.Wrap(w.answers.around)
	if w.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	made, err := w.client.CoreV1().Namespaces().Create(
		ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "go-"}}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	w.namespace = made.Name
	return w, nil
}

func (w *world) configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace}, Data: data}
}

func (w *world) create(ctx context.Context, names ...string) error {
	for _, name := range names {
		made := w.configMap(name, map[string]string{"name": name})
		if _, err := w.client.CoreV1().ConfigMaps(w.namespace).Create(ctx, made, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// wires are the open connections, so that a scenario can cut them.
type wires struct {
	mutex sync.Mutex
	open  []net.Conn
}

func (w *wires) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.open = append(w.open, conn)
	}
	return conn, err
}

func (w *wires) cut() int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, conn := range w.open {
		conn.Close()
	}
	count := len(w.open)
	w.open = nil
	return count
}

// answers counts the media types of what the server answered, and requests for the first state of a watch.
type answers struct {
	mutex    sync.Mutex
	types    map[string]int
	streamed int
	listed   int
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func (a *answers) around(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil {
			a.count(request, response)
		}
		return response, err
	})
}

func (a *answers) count(request *http.Request, response *http.Response) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.types == nil {
		a.types = map[string]int{}
	}
	a.types[response.Header.Get("Content-Type")]++
	query := request.URL.Query()
	switch {
	case query.Get("sendInitialEvents") == "true":
		a.streamed++
	case request.Method == http.MethodGet && query.Get("watch") == "" && strings.HasSuffix(request.URL.Path, "s"):
		a.listed++
	}
}

// onlyProtobuf fails when an answer was anything else.
func (a *answers) onlyProtobuf() error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for mediaType := range a.types {
		if !strings.HasPrefix(mediaType, "application/vnd.kubernetes.protobuf") {
			return fmt.Errorf("answers in %q among %v", mediaType, a.types)
		}
	}
	return nil
}

// eventually waits until a condition holds, asking again and again.
func eventually(ctx context.Context, what string, holds func() bool) error {
	for !holds() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("never: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

func expect(holds bool, format string, values ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf("expected "+format, values...)
}
