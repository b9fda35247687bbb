package main

import (
	"context"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leader has two candidates: one leads, and when it gives up the other one follows; they never lead together.
func leader(ctx context.Context, w *world) error {
	var leading, both atomic.Int32
	first, stopFirst := context.WithCancel(ctx)
	defer stopFirst()
	led := make(chan string, 4)
	run := func(ctx context.Context, name string) {
		lock := &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: "leader", Namespace: w.namespace},
			Client:     w.client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		}
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: lock, ReleaseOnCancel: true, Name: name,
			LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 100 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) {
					if leading.Add(1) > 1 {
						both.Store(1)
					}
					led <- name
				},
				OnStoppedLeading: func() {},
			},
		})
	}
	stopped := make(chan struct{})
	go func() { run(first, "one"); close(stopped) }()
	if err := expect(<-led == "one", "the first candidate to lead"); err != nil {
		return err
	}
	second, stopSecond := context.WithCancel(ctx)
	defer stopSecond()
	go run(second, "two")
	w.wires.cut()
	lease, err := w.client.CoordinationV1().Leases(w.namespace).Get(ctx, "leader", metav1.GetOptions{})
	if err != nil {
		return err
	}
	renewed := func() bool {
		now, err := w.client.CoordinationV1().Leases(w.namespace).Get(ctx, "leader", metav1.GetOptions{})
		return err == nil && now.Spec.RenewTime.After(lease.Spec.RenewTime.Time)
	}
	if err := eventually(ctx, "the leader renews its lease", renewed); err != nil {
		return err
	}
	// From here on it leads no more: it releases the lease before it returns.
	leading.Add(-1)
	stopFirst()
	<-stopped
	if err := expect(<-led == "two" && both.Load() == 0, "the second candidate to follow"); err != nil {
		return err
	}
	return w.answers.onlyProtobuf()
}
