package kubernetes

import (
	"context"
	"errors"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/servegate/pipeline/steps"
)

// loss returns how the server's place was lost, or nil; also nil after Stop has begun.
func (s *Server) loss(pod *core.Pod) error {
	if err := lost(pod); err != nil || s.asked.Load() || pod.DeletionTimestamp == nil {
		return err
	}
	return s.run.deleted(pod)
}

// nodeWait is how long a node may be reported as not ready.
const nodeWait = 30 * time.Second

// lookWait bounds the question whether a node still answers.
const lookWait = 10 * time.Second

// Evicted reports whether the Pod, its node or the cluster was lost, or the memory that it may have was not
// enough.
func (s *Server) Evicted(ctx context.Context) error {
	err := s.evicted(ctx)
	if e, ok := errors.AsType[*steps.EvictionError](err); ok && e.Class == steps.EvictionPodDeleted {
		if loss := s.run.keeperLoss(); loss != nil { // which may have been seen only since
			return loss
		}
	}
	return err
}

func (s *Server) evicted(ctx context.Context) error {
	if steps.Ended(s.done) {
		if s.asked.Load() {
			return nil
		}
		return s.lost
	}
	pod, err := s.run.get(ctx, s.pod.Name)
	switch {
	case apierrors.IsNotFound(err) && !s.asked.Load():
		return s.run.deleted(s.pod)
	case err != nil:
		return placeLoss(err)
	}
	if err := s.loss(pod); err != nil {
		return err
	}
	if err := nodeSilent(pod); err != nil {
		return err
	}
	if s.tunnel != nil && s.tunnel.broken.Load() {
		return evictedf(steps.EvictionAPILost, "the connection through the API server by which %s is asked is broken", s.process.Name)
	}
	return s.run.kubeletSilent(ctx, pod)
}

// kubeletSilent asks the node for a line of the log: the cluster notices that a node is gone only after a
// while.
func (r *Run) kubeletSilent(ctx context.Context, pod *core.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	_, err := r.logs(pod.Name, &core.PodLogOptions{TailLines: new(int64(1))}).DoRaw(ctx)
	if err == nil || !strings.Contains(err.Error(), "dial tcp") && !strings.Contains(err.Error(), "proxy error") && ctx.Err() == nil {
		return nil
	}
	return evictedf(steps.EvictionNodeLost, "node %s of Pod %s (%s) does not answer: %v", pod.Spec.NodeName, pod.Name,
		pod.Annotations[nameLabel], err)
}

// nodeGone reports whether the server is known to be lost with its node, where its processes cannot be
// stopped.
func (s *Server) nodeGone() bool {
	ctx, cancel := context.WithTimeout(context.Background(), lookWait)
	defer cancel()
	pod, err := s.run.client.Pods(s.run.namespace).Get(ctx, s.pod.Name, podGet)
	if err != nil || steps.Ended(s.done) && s.lost == nil {
		return false // if unknown, try
	}
	return ofLostNode(lost(pod)) || ofLostNode(nodeSilent(pod))
}

// ofLostNode reports whether a place was lost with its node.
func ofLostNode(err error) bool {
	e, ok := errors.AsType[*steps.EvictionError](err)
	return ok && e.Class == steps.EvictionNodeLost
}
