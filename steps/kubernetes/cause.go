package kubernetes

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	core "k8s.io/api/core/v1"

	"github.com/servegate/pipeline/steps"
)

// stateOf is the state of a Pod's container; the zero value where there is none yet.
func stateOf(pod *core.Pod) core.ContainerState {
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == containerName {
			return s.State
		}
	}
	return core.ContainerState{}
}

// imageID of a Pod's container as its node knows it.
func imageID(pod *core.Pod) string {
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == containerName {
			return s.ImageID
		}
	}
	return ""
}

// disruptions maps the reasons of the condition DisruptionTarget, which names the cause of a Pod's removal,
// to classes.
var disruptions = map[string]steps.EvictionClass{
	"PreemptionByScheduler":  steps.EvictionPodEvicted,
	"EvictionByEvictionAPI":  steps.EvictionPodEvicted,
	"TerminationByKubelet":   steps.EvictionPodEvicted,
	"DeletionByTaintManager": steps.EvictionNodeLost,
	"DeletionByPodGC":        steps.EvictionNodeLost,
}

// terminationTarget is the condition of a Pod that Kueue removes, for any reason.
const terminationTarget core.PodConditionType = "TerminationTarget"

// disruption returns the class of a condition that names the cause of a Pod's removal, "" for others.
func disruption(c core.PodCondition) steps.EvictionClass {
	switch {
	case c.Status != core.ConditionTrue:
		return ""
	case c.Type == terminationTarget:
		return steps.EvictionPodEvicted
	case c.Type == core.DisruptionTarget:
		return disruptions[c.Reason]
	}
	return ""
}

// podReasons are the reasons of a Pod that failed as a whole.
var podReasons = map[string]steps.EvictionClass{
	"Evicted": steps.EvictionPodEvicted, "Preempting": steps.EvictionPodEvicted, "Shutdown": steps.EvictionPodEvicted,
	"Terminated": steps.EvictionPodEvicted, "NodeShutdown": steps.EvictionPodEvicted,
	"NodeLost": steps.EvictionNodeLost, "NodeAffinity": steps.EvictionPodEvicted, "DeadlineExceeded": steps.EvictionPodEvicted,
	"UnexpectedAdmissionError": steps.EvictionPodRefused, "OutOfcpu": steps.EvictionPodRefused,
	"OutOfmemory": steps.EvictionPodRefused, "OutOfpods": steps.EvictionPodRefused,
}

// lost returns how a Pod has lost its place, in the cluster's words, or nil.
func lost(pod *core.Pod) error {
	about := fmt.Sprintf("Pod %s (%s)", pod.Name, pod.Annotations[nameLabel])
	for _, c := range pod.Status.Conditions {
		if class := disruption(c); class != "" {
			return evictedf(class, "%s on node %s: %s: %s", about, pod.Spec.NodeName, c.Reason, c.Message)
		}
	}
	if t := stateOf(pod).Terminated; t != nil && t.Reason == "OOMKilled" {
		return evictedf(steps.EvictionOutOfMemory, "%s on node %s: OOMKilled, exit code %d: its limit of memory is %s", about,
			pod.Spec.NodeName, t.ExitCode, memoryLimit(pod))
	}
	reason := pod.Status.Reason
	if class, ok := podReasons[reason]; ok && pod.Status.Phase == core.PodFailed || ok && reason == "NodeLost" {
		return evictedf(class, "%s on node %s: %s: %s", about, pod.Spec.NodeName, reason, pod.Status.Message)
	}
	if pod.Status.Phase == core.PodFailed && stateOf(pod) == (core.ContainerState{}) {
		return evictedf(steps.EvictionPodRefused, "%s: the kubelet of node %s refuses it: %s: %s", about, pod.Spec.NodeName, reason,
			pod.Status.Message)
	}
	return nil
}

// takenAway returns how a Pod that the run did not delete has lost its place, or nil.
func (r *Run) takenAway(pod *core.Pod) error {
	if err := lost(pod); err != nil {
		return err
	}
	if pod.DeletionTimestamp != nil {
		return r.deleted(pod)
	}
	return nodeSilent(pod)
}

// deleted returns the loss of a Pod that another party has deleted. If the keeper has lost its place before,
// the cluster has deleted the Pod with the Job, and deleted returns the keeper's loss.
func (r *Run) deleted(pod *core.Pod) error {
	if err := r.keeperLoss(); err != nil {
		return err
	}
	return deletedPod(pod)
}

func deletedPod(pod *core.Pod) error {
	return evictedf(steps.EvictionPodDeleted, "Pod %s (%s) on node %s was deleted by someone else, or with the Job of the run", pod.Name,
		pod.Annotations[nameLabel], pod.Spec.NodeName)
}

// placeLoss returns err if it reports the loss of a place, else nil.
func placeLoss(err error) error {
	if lost, ok := errors.AsType[*steps.EvictionError](err); ok {
		return lost
	}
	return nil
}

func memoryLimit(pod *core.Pod) string {
	limit := mainOf(pod).Resources.Limits.Memory()
	if limit == nil || limit.IsZero() {
		return "not set, so that it was the node's memory that ran out"
	}
	return limit.String()
}

// nodeSilent returns an error if the node of a running Pod is not ready.
func nodeSilent(pod *core.Pod) error {
	for _, c := range pod.Status.Conditions {
		if c.Type == core.PodReady && c.Status != core.ConditionTrue && stateOf(pod).Running != nil && pod.DeletionTimestamp == nil {
			return evictedf(steps.EvictionNodeLost, "node %s of Pod %s (%s) is not ready: %s", pod.Spec.NodeName, pod.Name,
				pod.Annotations[nameLabel], strings.TrimSpace(c.Reason+" "+c.Message))
		}
	}
	return nil
}

// exitState describes how a container ended.
func exitState(t *core.ContainerStateTerminated) string {
	text := fmt.Sprintf("exit status %d", t.ExitCode)
	if n := t.ExitCode - 128; n > 0 && n < 32 {
		text += fmt.Sprintf(" (signal: %s)", syscall.Signal(n))
	}
	if t.Reason != "" && t.Reason != "Error" && t.Reason != "Completed" {
		text += ", " + t.Reason
	}
	if t.Message != "" {
		text += ": " + t.Message
	}
	return text
}
