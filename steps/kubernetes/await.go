package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
)

// create makes a Pod. A request without an answer may have made it all the same.
func (r *Run) create(ctx context.Context, pod *core.Pod) error {
	pods := r.client.Pods(r.namespace)
	err := r.ask(ctx, func(ctx context.Context) error {
		_, err := pods.Create(ctx, pod, meta.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil // its name is ours alone
		}
		return err
	})
	if forDeletion(err) {
		return r.namespaceDeleted()
	}
	return refusal(err)
}

func (r *Run) get(ctx context.Context, name string) (pod *core.Pod, err error) {
	err = r.ask(ctx, func(ctx context.Context) (err error) {
		pod, err = r.client.Pods(r.namespace).Get(ctx, name, meta.GetOptions{})
		return err
	})
	return pod, err
}

// until reports whether a Pod has reached the awaited state.
type until func(*core.Pod) bool

// running reports whether the container runs or has run.
func running(pod *core.Pod) bool {
	state := stateOf(pod)
	return state.Running != nil || state.Terminated != nil
}

// pulled reports whether the image is on the node, whatever the container's state.
func pulled(pod *core.Pod) bool {
	state := stateOf(pod)
	return running(pod) || state.Waiting != nil && slices.Contains([]string{"CreateContainerError", "RunContainerError",
		"CreateContainerConfigError"}, state.Waiting.Reason)
}

// awaitPod returns a Pod once done reports true. The timeout depends on the cause of the delay: room on the
// cluster, the pull of an image, or neither.
func (r *Run) awaitPod(ctx context.Context, name string, done until) (*core.Pod, error) {
	began, scheduled, told := time.Now(), time.Time{}, ""
	for {
		pod, err := r.get(ctx, name)
		switch {
		case apierrors.IsNotFound(err):
			return nil, cmp.Or(r.keeperLoss(), evictedf(steps.EvictionPodDeleted, "Pod %s was deleted by someone else", name))
		case err != nil:
			return nil, refusal(err)
		case done(pod):
			return pod, nil
		}
		if err := lost(pod); err != nil {
			return nil, err
		}
		if pod.Spec.NodeName == "" {
			if err := r.unscheduled(ctx, pod, time.Since(began)); err != nil {
				return nil, err
			}
			if why := unschedulable(pod); why != "" && why != told && (!gated(pod) || time.Since(began) > gateWait) {
				told = why
				r.opt.Tell(fmt.Sprintf("Pod %s waits for a node: %s", name, steps.Line(r.heldBack(ctx, pod), maxReason)))
			}
		} else {
			if scheduled.IsZero() {
				scheduled = time.Now()
			}
			if err := r.unstarted(ctx, pod, time.Since(scheduled)); err != nil {
				return nil, err
			}
		}
		if err := steps.Sleep(ctx, r.opt.Poll); err != nil {
			return nil, err
		}
	}
}

// unscheduled ends the wait for a node: it returns an error if the Pod cannot be scheduled or the wait took
// too long.
func (r *Run) unscheduled(ctx context.Context, pod *core.Pod, waited time.Duration) error {
	why := unschedulable(pod)
	if missing := missingClaim.FindString(why); missing != "" {
		return evictedf(steps.EvictionUnschedulable, "Pod %s (%s) names a volume that is not there: %s in namespace %s", pod.Name,
			pod.Annotations[nameLabel], missing, r.namespace)
	}
	if waited < r.opt.Spec.QueueTimeout {
		return nil
	}
	return evictedf(steps.EvictionUnschedulable, "no node took Pod %s (%s) within queue_timeout (%s): %s", pod.Name,
		pod.Annotations[nameLabel], r.opt.Spec.QueueTimeout, r.heldBack(ctx, pod))
}

// gateWait is how long a queue may take to admit a Pod before its wait is reported.
const gateWait = 3 * time.Second

// gated reports whether a Pod is withheld from the scheduler, for example by its queue.
func gated(pod *core.Pod) bool { return len(pod.Spec.SchedulingGates) > 0 }

// heldBack returns why a Pod has no node, in the words of the scheduler and of the queue that has not
// admitted it.
func (r *Run) heldBack(ctx context.Context, pod *core.Pod) string {
	why := cmp.Or(unschedulable(pod), "the scheduler gives no reason")
	if queue := pod.Labels[queueLabel]; queue != "" && gated(pod) {
		said := r.warnings(ctx, "involvedObject.kind=Workload", "pod-"+pod.Name+"-")
		return fmt.Sprintf("%s; queue %s: %s", why, queue, cmp.Or(said, "no event says why; is there a LocalQueue of this name?"))
	}
	return why
}

// missingClaim matches a scheduler's message about a claim that does not exist.
var missingClaim = lazyregexp.New(`persistentvolumeclaim "[^"]*" not found`)

// unschedulable returns the message of the scheduler, or of the controller that withholds the Pod.
func unschedulable(pod *core.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == core.PodScheduled && c.Status != core.ConditionTrue {
			return strings.TrimPrefix(c.Reason+": "+c.Message, ": ")
		}
	}
	return ""
}

// notPulled are the reasons of a container that waits because of its image. A first failed pull does not
// count, because the kubelet retries.
var notPulled = []string{"ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable"}

// unstarted ends the wait for a container on its node: it returns an error if the image cannot be pulled or
// the wait took too long.
func (r *Run) unstarted(ctx context.Context, pod *core.Pod, waited time.Duration) error {
	state := stateOf(pod)
	if w := state.Waiting; w != nil && slices.Contains(notPulled, w.Reason) {
		return evictedf(steps.EvictionImageNotPulled, "image %s on node %s: %s: %s", pod.Spec.Containers[0].Image, pod.Spec.NodeName, w.Reason,
			r.said(ctx, pod, w.Message))
	}
	limit := r.opt.StartWait
	if c := pod.Spec.Containers[0]; c.ImagePullPolicy != core.PullNever {
		limit = r.opt.PullWait
	}
	if waited < limit {
		return nil
	}
	reason := "nothing"
	if state.Waiting != nil {
		reason = strings.TrimSuffix(state.Waiting.Reason+": "+state.Waiting.Message, ": ")
	}
	return evictedf(steps.EvictionPodNotStarted, "Pod %s has not started on node %s within %s: %s; %s", pod.Name, pod.Spec.NodeName, limit,
		reason, r.eventsOf(ctx, "Pod", pod.Name))
}

// said returns the message of a state, or the events before it if the message reports only a back-off.
func (r *Run) said(ctx context.Context, pod *core.Pod, message string) string {
	if !strings.HasPrefix(message, "Back-off") || strings.Contains(message, ": ") {
		return message
	}
	return r.eventsOf(ctx, "Pod", pod.Name)
}

// maxEvents is the number of events that are quoted, the latest ones.
const maxEvents = 3

// eventsOf quotes the warnings about an object.
func (r *Run) eventsOf(ctx context.Context, kind, name string) string {
	return cmp.Or(r.warnings(ctx, "involvedObject.kind="+kind+",involvedObject.name="+name, name), "there are no events about it")
}

// warnings quotes the warnings about the selected objects whose names begin with prefix, or returns "".
func (r *Run) warnings(ctx context.Context, selector, prefix string) string {
	ctx, cancel := context.WithTimeout(ctx, r.opt.CallWait)
	defer cancel()
	found, err := r.client.Events(r.namespace).List(ctx, meta.ListOptions{FieldSelector: selector})
	if err != nil {
		return "its events cannot be read: " + err.Error()
	}
	var out []string
	for _, e := range found.Items {
		if text := e.Reason + ": " + e.Message; e.Type == core.EventTypeWarning && strings.HasPrefix(e.InvolvedObject.Name, prefix) &&
			!strings.HasPrefix(e.Message, "Error: ") && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out[max(0, len(out)-maxEvents):], "; ")
}

// discard removes a Pod of a start that failed, with its secret.
func (r *Run) discard(ctx context.Context, pod, secret string) error {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.opt.KillWait)
	defer cancel()
	return errors.Join(r.deletePod(ending, pod, 1), r.deleteSecret(ending, secret), r.awaitGone(ending, pod))
}

// deletePod asks for the end of a Pod within so many seconds.
func (r *Run) deletePod(ctx context.Context, name string, grace int64) error {
	err := r.ask(ctx, func(ctx context.Context) error {
		return r.client.Pods(r.namespace).Delete(ctx, name, meta.DeleteOptions{GracePeriodSeconds: &grace})
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (r *Run) deleteSecret(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	err := r.ask(ctx, func(ctx context.Context) error {
		return r.client.Secrets(r.namespace).Delete(ctx, name, meta.DeleteOptions{})
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// awaitGone returns when a Pod is not there any longer: its containers have ended, and its GPUs are
// free.
func (r *Run) awaitGone(ctx context.Context, name string) error {
	for {
		_, err := r.get(ctx, name)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil && ctx.Err() == nil:
			return fmt.Errorf("whether Pod %s is gone is not known: %w", name, err)
		}
		if steps.Sleep(ctx, r.opt.Poll) != nil {
			return fmt.Errorf("its Pod %s of namespace %s is still there; the node hangs or does not answer", name, r.namespace)
		}
	}
}
