package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/servegate/pipeline/steps"
)

// keeper holds the state of the Pod of the run's Job. If that Pod loses its place, the Job fails and the
// cluster deletes all Pods of the run, on all nodes.
type keeper struct {
	mu   sync.Mutex
	lost error // nil while it has its place
}

// keeperLoss returns how the keeper lost its place, or nil.
func (r *Run) keeperLoss() error {
	r.keeper.mu.Lock()
	defer r.keeper.mu.Unlock()
	return r.keeper.lost
}

// terminating reports whether the namespace is being deleted: then it admits no Pod. A right to read the
// namespace is not needed.
func (r *Run) terminating(ctx context.Context) bool {
	pod := r.keeperPod()
	pod.Name = r.objectName("keeper")
	return forDeletion(r.dryRun(ctx, pod))
}

// namespaceDeleted returns the loss of a run whose namespace is being deleted.
func (r *Run) namespaceDeleted() error {
	return evictedf(steps.EvictionPodDeleted, "namespace %s is being deleted, and with it the run", r.namespace)
}

// watchKeeper polls the keeper until ctx ends or the keeper is gone.
func (r *Run) watchKeeper(ctx context.Context, name string) {
	for steps.Sleep(ctx, r.opt.Poll) == nil && r.lookAtKeeper(ctx, name) {
	}
}

// lookAtKeeper records how the keeper lost its place, and reports whether to continue. A condition that names
// the cause takes precedence over the deletion that follows it.
func (r *Run) lookAtKeeper(ctx context.Context, name string) bool {
	once, cancel := context.WithTimeout(ctx, r.opt.CallWait)
	defer cancel()
	pod, err := r.client.Pods(r.namespace).Get(once, name, podGet)
	if err != nil {
		return !apierrors.IsNotFound(err)
	}
	why := lost(pod)
	if why == nil && (pod.DeletionTimestamp == nil || r.keeperLoss() != nil) {
		return true
	}
	switch loss, _ := errors.AsType[*steps.EvictionError](cmp.Or(why, deletedPod(pod))); {
	case why == nil && r.terminating(once):
		why = r.namespaceDeleted()
	default:
		why = evicted(loss.Class, loss.Reason+"; it kept the run, whose other Pods were deleted with it")
	}
	r.keeper.mu.Lock()
	defer r.keeper.mu.Unlock()
	r.keeper.lost = why
	return true
}
