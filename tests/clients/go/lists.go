package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
	toolswatch "k8s.io/client-go/tools/watch"
)

// pages lists page by page, in one snapshot, while another object is written.
func pages(ctx context.Context, w *world) error {
	for number := range 25 {
		if err := w.create(ctx, fmt.Sprintf("page-%02d", number)); err != nil {
			return err
		}
	}
	api := w.client.CoreV1().ConfigMaps(w.namespace)
	asked := 0
	list := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		asked++
		if asked == 2 {
			if err := w.create(ctx, "page-late"); err != nil {
				return nil, err
			}
		}
		return api.List(ctx, options)
	}))
	list.PageSize = 10
	var names []string
	err := list.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		names = append(names, object.(*corev1.ConfigMap).Name)
		return nil
	})
	if err != nil {
		return err
	}
	own := 0
	for _, name := range names {
		if len(name) == len("page-00") && name[:5] == "page-" {
			own++
		}
		if name == "page-late" {
			return fmt.Errorf("a later object in an earlier snapshot")
		}
	}
	if err := expect(asked >= 3 && own == 25, "25 objects in 3 pages, got %d in %d", own, asked); err != nil {
		return err
	}
	return w.answers.onlyProtobuf()
}

// retryWatch goes on through cut connections: every event once, in order.
func retryWatch(ctx context.Context, w *world) error {
	api := w.client.CoreV1().ConfigMaps(w.namespace)
	if err := w.create(ctx, "start"); err != nil {
		return err
	}
	start, err := api.Get(ctx, "start", metav1.GetOptions{})
	if err != nil {
		return err
	}
	source := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		options.FieldSelector = "metadata.name=start"
		return api.Watch(ctx, options)
	}}
	stream, err := toolswatch.NewRetryWatcherWithContext(ctx, start.ResourceVersion, source)
	if err != nil {
		return err
	}
	defer stream.Stop()
	for round := range rounds {
		start.Data["round"] = fmt.Sprint(round)
		if start, err = api.Update(ctx, start, metav1.UpdateOptions{}); err != nil {
			return err
		}
		event := <-stream.ResultChan()
		object, ok := event.Object.(*corev1.ConfigMap)
		if !ok || event.Type != watch.Modified || object.ResourceVersion != start.ResourceVersion {
			return fmt.Errorf("expected round %d, got %v", round, event)
		}
		w.wires.cut()
	}
	return w.answers.onlyProtobuf()
}

// serverSideApply owns fields: another owner is a conflict, and the same again changes nothing.
func serverSideApply(ctx context.Context, w *world) error {
	api := w.client.CoreV1().ConfigMaps(w.namespace)
	wanted := corev1apply.ConfigMap("a", w.namespace).WithData(map[string]string{"k": "v"})
	made, err := api.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: "one"})
	if err != nil {
		return err
	}
	again, err := api.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: "one"})
	if err != nil {
		return err
	}
	if err := expect(again.ResourceVersion == made.ResourceVersion, "no change, got %s after %s", again.ResourceVersion, made.ResourceVersion); err != nil {
		return err
	}
	other := corev1apply.ConfigMap("a", w.namespace).WithData(map[string]string{"k": "w"})
	_, err = api.Apply(ctx, other, metav1.ApplyOptions{FieldManager: "two"})
	if err := expect(err != nil, "a conflict"); err != nil {
		return err
	}
	forced, err := api.Apply(ctx, other, metav1.ApplyOptions{FieldManager: "two", Force: true})
	if err != nil {
		return err
	}
	extracted, err := corev1apply.ExtractConfigMap(forced, "two")
	if err != nil {
		return err
	}
	return expect(extracted.Data["k"] == "w", "what the second owns, got %v", extracted)
}
