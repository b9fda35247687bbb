package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type object = map[string]any

// manager runs two managers of boxes, of which one leads. Connections are cut, and at "restart" whoever started
// this program ends the server and starts it again, then answers with a line. The other manager has the end.
func manager(ctx context.Context, w *world) error {
	ctrl.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	scheme.AddKnownTypes(boxVersion, &Box{}, &BoxList{})
	metav1.AddToGroupVersion(scheme, boxVersion)
	direct, err := client.New(w.config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	if err := defineBoxes(ctx, direct); err != nil {
		return err
	}
	first, stopFirst, err := startManager(ctx, w, scheme)
	if err != nil {
		return err
	}
	defer stopFirst()
	<-first.leads
	second, stopSecond, err := startManager(ctx, w, scheme)
	if err != nil {
		return err
	}
	defer stopSecond()
	if err := throughRestart(ctx, w, direct); err != nil {
		return err
	}
	select {
	case <-second.leads:
		return fmt.Errorf("both managers lead")
	default:
	}
	stopFirst()
	if err := <-first.ended; err != nil {
		return fmt.Errorf("the first manager: %w", err)
	}
	return theEnd(ctx, w, direct)
}

// defineBoxes defines them, and waits until they are established.
func defineBoxes(ctx context.Context, direct client.Client) error {
	number := object{"type": "integer", "minimum": int64(0), "maximum": int64(9)}
	properties := object{
		"spec": object{
			"type": "object", "required": []any{"items"},
			"properties": object{"items": number, "color": object{"type": "string", "default": "red"}},
		},
		"status": object{
			"type":       "object",
			"properties": object{"items": object{"type": "integer"}, "observedGeneration": object{"type": "integer"}},
		},
	}
	definition := &unstructured.Unstructured{Object: object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": "boxes." + boxGroup},
		"spec": object{
			"group": boxGroup, "scope": "Namespaced",
			"names": object{"plural": "boxes", "singular": "box", "kind": "Box", "listKind": "BoxList"},
			"versions": []any{object{
				"name": "v1", "served": true, "storage": true, "subresources": object{"status": object{}},
				"schema": object{"openAPIV3Schema": object{"type": "object", "properties": properties}},
			}},
		},
	}}
	if err := direct.Create(ctx, definition); err != nil {
		return err
	}
	return eventually(ctx, "boxes are served", func() bool { return direct.List(ctx, &BoxList{}) == nil })
}

// running is a manager at work.
type running struct {
	leads <-chan struct{}
	ended <-chan error
}

func startManager(ctx context.Context, w *world, scheme *runtime.Scheme) (*running, context.CancelFunc, error) {
	lease, renew, retry := 15*time.Second, 12*time.Second, 200*time.Millisecond
	unnamed := true
	made, err := ctrl.NewManager(rest.CopyConfig(w.config), ctrl.Options{
		Scheme:         scheme,
		Metrics:        server.Options{BindAddress: "0"},
		Cache:          cache.Options{DefaultNamespaces: map[string]cache.Config{w.namespace: {}}},
		Controller:     config.Controller{SkipNameValidation: &unnamed},
		LeaderElection: true, LeaderElectionID: "boxes", LeaderElectionNamespace: w.namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease, RenewDeadline: &renew, RetryPeriod: &retry,
	})
	if err != nil {
		return nil, nil, err
	}
	boxes := &keeper{Client: made.GetClient(), scheme: scheme}
	if err := ctrl.NewControllerManagedBy(made).For(&Box{}).Owns(&corev1.ConfigMap{}).Complete(boxes); err != nil {
		return nil, nil, err
	}
	own, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- made.Start(own) }()
	return &running{leads: made.Elected(), ended: ended}, stop, nil
}

// throughRestart changes a box before and after connections are cut and the server is started again.
func throughRestart(ctx context.Context, w *world, direct client.Client) error {
	box := &Box{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "b"}, Spec: BoxSpec{Items: 2}}
	if err := direct.Create(ctx, box); err != nil {
		return err
	}
	if err := converges(ctx, w, direct, BoxSpec{Items: 2, Color: "red"}); err != nil {
		return err
	}
	if err := expect(w.wires.cut() > 0, "open connections"); err != nil {
		return err
	}
	if err := want(ctx, w, direct, BoxSpec{Items: 4, Color: "blue"}); err != nil {
		return err
	}
	fmt.Println("restart")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	// One that goes behind the controller's back comes again.
	if err := direct.Delete(ctx, w.configMap("b-1", nil)); err != nil {
		return err
	}
	return want(ctx, w, direct, BoxSpec{Items: 3, Color: "green"})
}

// theEnd has the other manager keep the box, and let it go.
func theEnd(ctx context.Context, w *world, direct client.Client) error {
	if err := want(ctx, w, direct, BoxSpec{Items: 1, Color: "white"}); err != nil {
		return err
	}
	box := &Box{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "b"}}
	if err := direct.Delete(ctx, box); err != nil {
		return err
	}
	return eventually(ctx, "the box, its items and its ledger go", func() bool {
		boxes, items := &BoxList{}, &corev1.ConfigMapList{}
		here := client.InNamespace(w.namespace)
		if direct.List(ctx, boxes, here) != nil || direct.List(ctx, items, here) != nil {
			return false
		}
		for _, item := range items.Items {
			if item.Name != "kube-root-ca.crt" {
				return false
			}
		}
		return len(boxes.Items) == 0
	})
}

// want changes the box and waits until it is as it says.
func want(ctx context.Context, w *world, direct client.Client, spec BoxSpec) error {
	patch := fmt.Sprintf(`{"spec":{"items":%d,"color":%q}}`, spec.Items, spec.Color)
	box := &Box{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "b"}}
	if err := direct.Patch(ctx, box, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		return err
	}
	return converges(ctx, w, direct, spec)
}

// converges waits until the status and the box's ConfigMaps tell what the box wants.
func converges(ctx context.Context, w *world, direct client.Client, spec BoxSpec) error {
	return eventually(ctx, fmt.Sprintf("a box converges to %v", spec), func() bool {
		box, items := &Box{}, &corev1.ConfigMapList{}
		key := client.ObjectKey{Namespace: w.namespace, Name: "b"}
		if direct.Get(ctx, key, box) != nil || direct.List(ctx, items, client.InNamespace(w.namespace)) != nil {
			return false
		}
		count := 0
		for i := range items.Items {
			if metav1.IsControlledBy(&items.Items[i], box) && items.Items[i].Data["color"] == spec.Color {
				count++
			}
		}
		told := BoxStatus{Items: spec.Items, ObservedGeneration: box.Generation}
		return box.Spec == spec && box.Status == told && count == spec.Items
	})
}
