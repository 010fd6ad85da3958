package steps

// EvictionError reports how a place for servers was lost, or why none was granted.
type EvictionError struct {
	Class EvictionClass
	// Reason is one sentence without a final stop.
	Reason string
}

// Error returns the reason with its class.
func (e *EvictionError) Error() string { return e.Reason + " (" + string(e.Class) + ")" }

// EvictionClass is how a place was lost, or why none was granted, in one word for programs. [Evictions] lists them
// all.
type EvictionClass string

// The classes of evictions. Some are reported by one place alone, because only it can tell them apart.
const (
	EvictionNodeLost    EvictionClass = "node_lost"
	EvictionUnlikeNodes EvictionClass = "unlike_nodes"
	EvictionSuspended   EvictionClass = "suspended"

	EvictionAllocationRefused EvictionClass = "allocation_refused"
	EvictionJobPending        EvictionClass = "job_pending"
	EvictionJobCancelled      EvictionClass = "job_cancelled"
	EvictionStepCancelled     EvictionClass = "step_cancelled"
	EvictionPreempted         EvictionClass = "preempted"
	EvictionTimeLimit         EvictionClass = "time_limit"
	EvictionJobEnded          EvictionClass = "job_ended"

	EvictionForbidden      EvictionClass = "forbidden"
	EvictionQuota          EvictionClass = "quota_exceeded"
	EvictionPodRefused     EvictionClass = "pod_refused"
	EvictionUnschedulable  EvictionClass = "unschedulable"
	EvictionImageNotPulled EvictionClass = "image_not_pulled"
	EvictionPodNotStarted  EvictionClass = "pod_not_started"
	EvictionOutOfMemory    EvictionClass = "out_of_memory"
	EvictionPodEvicted     EvictionClass = "pod_evicted"
	EvictionPodDeleted     EvictionClass = "pod_deleted"
	EvictionAPILost        EvictionClass = "api_lost"

	EvictionStackLost EvictionClass = "stack_lost"
)

// Eviction describes a class of evictions.
type Eviction struct {
	Class EvictionClass
	// Doc completes the sentence "the place was lost, or not granted: …".
	Doc string
}

// Evictions returns all classes, in the order of a run: while it waits for its place, while it starts servers,
// while they serve.
func Evictions() []Eviction {
	return []Eviction{
		{EvictionForbidden, "a right on the cluster is missing, or was taken away"},
		{EvictionQuota, "a quota of the namespace is used up"},
		{EvictionAllocationRefused, "Slurm refuses the job, or the allocation does not fit the file"},
		{EvictionJobPending, "the job did not start within `queue_timeout`, or can never start"},
		{EvictionUnschedulable, "no node, or no quota of the `queue`, has room for a Pod within `queue_timeout`; or a claim is missing"},
		{EvictionUnlikeNodes, "nodes that servers of one role run on are too different for a comparison"},
		{EvictionPodRefused, "the API server or the kubelet refuses a Pod, for example because of a priority class that is missing"},
		{EvictionImageNotPulled, "an image does not exist, or its registry refuses it"},
		{EvictionPodNotStarted, "a Pod that has a node does not start"},
		{EvictionNodeLost, "a node failed, is not ready or does not answer"},
		{EvictionOutOfMemory, "the kernel killed a Pod at its limit of memory, or at its node's"},
		{EvictionPreempted, "Slurm suspended the job, put it back into the queue, or ended it for another one"},
		{EvictionPodEvicted, "the scheduler, the kubelet, Kueue or an eviction ended a Pod"},
		{EvictionPodDeleted, "somebody deleted a Pod, the Job of the run or the namespace"},
		{EvictionJobCancelled, "somebody cancelled the job"},
		{EvictionStepCancelled, "somebody cancelled the step of a server"},
		{EvictionTimeLimit, "the time limit of the job has passed, or is too near for another launch"},
		{EvictionJobEnded, "the job has ended otherwise, or the controller does not know it any longer"},
		{EvictionAPILost, "the API server has not answered for two minutes"},
		{EvictionStackLost, "the `lost` of a stack fails: its output is the reason"},
		{EvictionSuspended, "somebody paused a server, which failed after that"},
	}
}
