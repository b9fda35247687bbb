package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	boxGroup     = "manager.example.com"
	boxFinalizer = boxGroup + "/ledger"
)

var boxVersion = schema.GroupVersion{Group: boxGroup, Version: "v1"}

// Box wants a number of ConfigMaps.
type Box struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              BoxSpec   `json:"spec"`
	Status            BoxStatus `json:"status,omitempty"`
}

// BoxSpec is what the user says.
type BoxSpec struct {
	Items int    `json:"items"`
	Color string `json:"color,omitempty"`
}

// BoxStatus is what the controller says.
type BoxStatus struct {
	Items              int   `json:"items,omitempty"`
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// BoxList is a list of them.
type BoxList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Box `json:"items"`
}

func (b *Box) DeepCopyObject() runtime.Object {
	copied := *b
	copied.ObjectMeta = *b.ObjectMeta.DeepCopy()
	return &copied
}

func (l *BoxList) DeepCopyObject() runtime.Object {
	copied := *l
	copied.Items = make([]Box, len(l.Items))
	for i := range l.Items {
		copied.Items[i] = *l.Items[i].DeepCopyObject().(*Box)
	}
	return &copied
}

// keeper keeps the ConfigMaps of boxes, and a ledger for each box that only its finalizer takes away.
type keeper struct {
	client.Client
	scheme *runtime.Scheme
}

func (k *keeper) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	box := &Box{}
	if err := k.Get(ctx, request.NamespacedName, box); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !box.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, k.finish(ctx, box)
	}
	if controllerutil.AddFinalizer(box, boxFinalizer) {
		if err := k.Update(ctx, box); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := k.keepLedger(ctx, box); err != nil {
		return ctrl.Result{}, err
	}
	count, err := k.keepItems(ctx, box)
	if err != nil {
		return ctrl.Result{}, err
	}
	before := box.DeepCopyObject().(*Box)
	box.Status = BoxStatus{Items: count, ObservedGeneration: box.Generation}
	return ctrl.Result{}, k.Status().Patch(ctx, box, client.MergeFrom(before))
}

func (k *keeper) finish(ctx context.Context, box *Box) error {
	if err := client.IgnoreNotFound(k.Delete(ctx, ledger(box))); err != nil {
		return err
	}
	if !controllerutil.RemoveFinalizer(box, boxFinalizer) {
		return nil
	}
	return client.IgnoreNotFound(k.Update(ctx, box))
}

func (k *keeper) keepLedger(ctx context.Context, box *Box) error {
	if err := k.Create(ctx, ledger(box)); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

func ledger(box *Box) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: box.Namespace, Name: box.Name + "-ledger"}}
}

// keepItems makes what is wanted and deletes what is not; it returns how many there are to be.
func (k *keeper) keepItems(ctx context.Context, box *Box) (int, error) {
	wanted := map[string]bool{}
	for i := range box.Spec.Items {
		item := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: box.Namespace, Name: fmt.Sprintf("%s-%d", box.Name, i)}}
		wanted[item.Name] = true
		_, err := controllerutil.CreateOrUpdate(ctx, k.Client, item, func() error {
			item.Data = map[string]string{"color": box.Spec.Color}
			return controllerutil.SetControllerReference(box, item, k.scheme)
		})
		if err != nil {
			return 0, err
		}
	}
	owned := &corev1.ConfigMapList{}
	if err := k.List(ctx, owned, client.InNamespace(box.Namespace)); err != nil {
		return 0, err
	}
	for i := range owned.Items {
		item := &owned.Items[i]
		if wanted[item.Name] || !metav1.IsControlledBy(item, box) {
			continue
		}
		if err := client.IgnoreNotFound(k.Delete(ctx, item)); err != nil {
			return 0, err
		}
	}
	return len(wanted), nil
}
