package main

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// typed creates, reads, changes and deletes through the typed clientset, which speaks protobuf by itself.
func typed(ctx context.Context, w *world) error {
	for _, step := range []func(context.Context, *world) error{configMaps, leases, events} {
		if err := step(ctx, w); err != nil {
			return err
		}
	}
	return w.answers.onlyProtobuf()
}

func configMaps(ctx context.Context, w *world) error {
	api := w.client.CoreV1().ConfigMaps(w.namespace)
	stream, err := api.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer stream.Stop()
	full := w.configMap("a", map[string]string{"text": "ä", "empty": ""})
	full.BinaryData = map[string][]byte{"bytes": {0, 255}}
	full.Labels = map[string]string{"app": "x"}
	made, err := api.Create(ctx, full, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	read, err := api.Get(ctx, "a", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := expect(read.String() == made.String() && read.BinaryData["bytes"][1] == 255 && !read.CreationTimestamp.IsZero() && len(read.ManagedFields) == 1,
		"the created object, got %v", read); err != nil {
		return err
	}
	stale := read.DeepCopy()
	read.Data["text"] = "b"
	if _, err = api.Update(ctx, read, metav1.UpdateOptions{}); err != nil {
		return err
	}
	_, err = api.Update(ctx, stale, metav1.UpdateOptions{})
	if err := expect(apierrors.IsConflict(err), "a conflict, got %v", err); err != nil {
		return err
	}
	patch := []byte(`{"data":{"more":"1"}}`)
	for _, kind := range []types.PatchType{types.StrategicMergePatchType, types.MergePatchType} {
		if _, err = api.Patch(ctx, "a", kind, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	list, err := api.List(ctx, metav1.ListOptions{LabelSelector: "app=x"})
	if err != nil {
		return err
	}
	if err := expect(len(list.Items) == 1 && list.Items[0].Data["more"] == "1" && list.ResourceVersion != "", "one item, got %v", list); err != nil {
		return err
	}
	grace := int64(0)
	uid := read.UID
	options := metav1.DeleteOptions{GracePeriodSeconds: &grace, Preconditions: &metav1.Preconditions{UID: &uid}}
	if err = api.Delete(ctx, "a", options); err != nil {
		return err
	}
	_, err = api.Get(ctx, "a", metav1.GetOptions{})
	if err := expect(apierrors.IsNotFound(err), "not found, got %v", err); err != nil {
		return err
	}
	return told(stream, "a", watch.Added, watch.Modified, watch.Modified, watch.Deleted)
}

// told reads these events of an object from a stream.
func told(stream watch.Interface, name string, wanted ...watch.EventType) error {
	for _, kind := range wanted {
		event := <-stream.ResultChan()
		for event.Type == watch.Added && event.Object.(metav1.Object).GetName() != name {
			event = <-stream.ResultChan()
		}
		object, ok := event.Object.(metav1.Object)
		if !ok || event.Type != kind || object.GetName() != name {
			return fmt.Errorf("expected %s of %s, got %v", kind, name, event)
		}
	}
	return nil
}

func leases(ctx context.Context, w *world) error {
	api := w.client.CoordinationV1().Leases(w.namespace)
	holder, seconds := "me", int32(15)
	now := metav1.NewMicroTime(time.Now().Truncate(time.Microsecond))
	spec := coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l"}, Spec: spec}
	made, err := api.Create(ctx, lease, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := expect(made.Spec.RenewTime.Equal(&now) && *made.Spec.LeaseDurationSeconds == 15, "the lease, got %v", made.Spec); err != nil {
		return err
	}
	transitions := int32(1)
	made.Spec.LeaseTransitions = &transitions
	if _, err = api.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		return err
	}
	return api.Delete(ctx, "l", metav1.DeleteOptions{})
}

func events(ctx context.Context, w *world) error {
	api := w.client.CoreV1().Events(w.namespace)
	about := corev1.ObjectReference{Kind: "ConfigMap", Namespace: w.namespace, Name: "a"}
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "e"}, InvolvedObject: about, Reason: "Because", Type: "Normal",
		FirstTimestamp: metav1.Now(), LastTimestamp: metav1.Now(), Count: 1,
	}
	made, err := api.Create(ctx, event, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	made.Count = 2
	if _, err = api.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		return err
	}
	list, err := api.List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=a,reason=Because"})
	if err != nil {
		return err
	}
	if err := expect(len(list.Items) == 1 && list.Items[0].Count == 2, "one event, got %v", list.Items); err != nil {
		return err
	}
	newer, err := w.client.EventsV1().Events(w.namespace).Get(ctx, "e", metav1.GetOptions{})
	if err != nil {
		return err
	}
	return expect(newer.Regarding.Name == "a" && newer.DeprecatedCount == 2, "the event in its other version, got %v", newer)
}
