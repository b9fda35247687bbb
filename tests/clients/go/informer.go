package main

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/features"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

const rounds = 4

// informer follows a namespace while its connections are cut again and again, and misses nothing.
// KUBE_FEATURE_WatchListClient says whether it streams its first state or lists it.
func informer(ctx context.Context, w *world) error {
	if err := w.create(ctx, "first", "second"); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(w.client, 0, informers.WithNamespace(w.namespace))
	maps := factory.Core().V1().ConfigMaps()
	seen := &record{last: map[string]string{}}
	if _, err := maps.Informer().AddEventHandler(seen); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), maps.Informer().HasSynced) {
		return fmt.Errorf("the cache never was in step")
	}
	streaming := features.FeatureGates().Enabled(features.WatchListClient)
	if err := expect((w.answers.streamed > 0) == streaming && (w.answers.listed > 0) == !streaming,
		"streaming=%v, got %d streams and %d lists", streaming, w.answers.streamed, w.answers.listed); err != nil {
		return err
	}
	for round := range rounds {
		if err := expect(w.wires.cut() > 0, "a connection to cut"); err != nil {
			return err
		}
		if err := w.change(ctx, round); err != nil {
			return err
		}
	}
	inStep := func() bool { return w.inStep(ctx, maps.Lister().ConfigMaps(w.namespace).List, seen) }
	if err := eventually(ctx, "the informer knows what the server holds", inStep); err != nil {
		return err
	}
	return w.answers.onlyProtobuf()
}

// change creates one object, changes another one and deletes the one before. Each may meet a cut connection once.
func (w *world) change(ctx context.Context, round int) error {
	api := w.client.CoreV1().ConfigMaps(w.namespace)
	if err := w.create(ctx, fmt.Sprintf("round-%d", round)); err != nil {
		return err
	}
	object, err := api.Get(ctx, "first", metav1.GetOptions{})
	if err != nil {
		return err
	}
	object.Data["round"] = fmt.Sprint(round)
	if _, err = api.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if round > 0 {
		return api.Delete(ctx, fmt.Sprintf("round-%d", round-1), metav1.DeleteOptions{})
	}
	return nil
}

func (w *world) inStep(ctx context.Context, list func(labels.Selector) ([]*corev1.ConfigMap, error), seen *record) bool {
	held, err := w.client.CoreV1().ConfigMaps(w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false
	}
	known, err := list(labels.Everything())
	if err != nil || len(known) != len(held.Items) {
		return false
	}
	for _, item := range held.Items {
		if seen.version(item.Name) != item.ResourceVersion {
			return false
		}
	}
	return seen.count() == len(held.Items)
}

// record is an event handler that keeps the newest version that it was told of each object.
type record struct {
	mutex sync.Mutex
	last  map[string]string
}

func (r *record) OnAdd(object any, _ bool) { r.keep(object) }

func (r *record) OnUpdate(_, object any) { r.keep(object) }

func (r *record) OnDelete(object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.last, object.(metav1.Object).GetName())
}

func (r *record) keep(object any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	found := object.(metav1.Object)
	r.last[found.GetName()] = found.GetResourceVersion()
}

func (r *record) version(name string) string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.last[name]
}

func (r *record) count() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return len(r.last)
}

// metadataInformer knows objects by their metadata alone, of a type that it has no Go type for.
func metadataInformer(ctx context.Context, w *world) error {
	if err := w.create(ctx, "a"); err != nil {
		return err
	}
	client, err := metadata.NewForConfig(w.config)
	if err != nil {
		return err
	}
	resource := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	factory := metadatainformer.NewFilteredSharedInformerFactory(client, 0, w.namespace, nil)
	seen := &record{last: map[string]string{}}
	if _, err := factory.ForResource(resource).Informer().AddEventHandler(seen); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	w.wires.cut()
	if err := w.create(ctx, "b"); err != nil {
		return err
	}
	told := func() bool { return seen.version("a") != "" && seen.version("b") != "" }
	if err := eventually(ctx, "both objects are known", told); err != nil {
		return err
	}
	one, err := client.Resource(resource).Namespace(w.namespace).Get(ctx, "a", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := expect(one.UID != "" && len(one.ManagedFields) == 1, "metadata, got %v", one); err != nil {
		return err
	}
	if err := client.Resource(resource).Namespace(w.namespace).Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		return err
	}
	gone := func() bool { return seen.version("a") == "" }
	if err := eventually(ctx, "the deleted object is gone", gone); err != nil {
		return err
	}
	return w.answers.onlyProtobuf()
}
