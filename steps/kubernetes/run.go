package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/servegate/pipeline/steps"
)

// Run holds the objects of a run in a cluster.
type Run struct {
	*cluster
	// Of the Job that owns all else.
	job   string
	owner meta.OwnerReference

	nodes []Node
	// unqueued makes the warning about a queue without a controller appear once.
	unqueued sync.Once
	// images that were pulled, by node and reference.
	images sync.Map
	told   sync.Map // warnings about servers

	beating context.CancelFunc
	beaten  sync.WaitGroup
	keeper  keeper

	mu      sync.Mutex
	tunnels map[string]string // direct address of a server by the address of its tunnel
}

// New returns a run without objects in the cluster. It sends no requests.
func New(opt Options) (*Run, error) {
	c, err := connect(opt)
	if err != nil {
		return nil, err
	}
	return &Run{cluster: c, tunnels: map[string]string{}}, nil
}

// Namespace in which everything is made.
func (r *Run) Namespace() string { return r.namespace }

// Open checks the user's rights, creates the Job that owns all other objects, and chooses the nodes by their
// wants. If it fails it removes everything.
func (r *Run) Open(ctx context.Context, wants []Want) error {
	if err := r.checkRights(ctx); err != nil {
		return err
	}
	r.patience, r.granted = r.opt.Patience, true
	r.warnPullSecrets(ctx)
	if err := r.begin(ctx); err != nil {
		return errors.Join(err, r.undo(ctx))
	}
	if err := r.chooseNodes(ctx, wants); err != nil {
		return errors.Join(err, r.undo(ctx))
	}
	r.warnOthers(ctx)
	return nil
}

// warnOthers warns of other runs in the namespace, which may use the same nodes at the same time. If they
// cannot be listed, this run continues.
func (r *Run) warnOthers(ctx context.Context) {
	found, err := r.leftovers(ctx, func(run, _ string) bool { return run != r.opt.RunID })
	if err != nil || len(found.Left) == 0 {
		return
	}
	var names []string
	for _, l := range found.Left {
		names = append(names, fmt.Sprintf("%s (Job %s)", l.RunID, l.Job))
	}
	r.opt.Warn(steps.Line(fmt.Sprintf("namespace %s has other runs as well: %s; runs that share nodes disturb each other, and `pipeline "+
		"cleanup --kubernetes` removes those whose program has ended",
		r.namespace, strings.Join(names, ", ")), maxReason))
}

// undo removes the objects of a failed start.
func (r *Run) undo(ctx context.Context) error {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.opt.KillWait)
	defer cancel()
	return r.Close(ending)
}

// Arguments of the keeper, after the entrypoint of the image.
const (
	Worker = "pod-worker"
	// The words after it.
	workerKeep, workerLook, workerWait = "keep", "look", "wait"
)

const (
	beatFolder = "/var/run/pipeline/beat"
	beatFile   = "beat"
)

// begin creates the Job and waits until its Pod, the keeper, runs.
func (r *Run) begin(ctx context.Context) error {
	keeper := r.keeperPod()
	job := &batch.Job{ObjectMeta: r.meta("run", "keeper"), Spec: batch.JobSpec{
		BackoffLimit: new(int32(0)), TTLSecondsAfterFinished: new(int32(0)), ActiveDeadlineSeconds: r.deadline(),
		Template: core.PodTemplateSpec{ObjectMeta: keeper.ObjectMeta, Spec: keeper.Spec},
	}}
	made, err := r.createJob(ctx, job)
	if err != nil {
		return err
	}
	r.job = made.Name
	r.owner = meta.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: made.Name, UID: made.UID}
	pod, err := r.awaitKeeper(ctx)
	if err != nil {
		return err
	}
	alive, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.beating = stop
	r.beaten.Go(func() { r.beat(alive, pod) })
	r.beaten.Go(func() { r.watchKeeper(alive, pod) })
	return nil
}

// keeperPod describes the Pod of the Job, whose name the Job gives.
func (r *Run) keeperPod() *core.Pod {
	keeper := r.bare("keeper", "keeper")
	keeper.Name = ""
	keeper.Annotations[beatLabel] = "0"
	keeper.Spec.Volumes = []core.Volume{{Name: "beat", VolumeSource: core.VolumeSource{DownwardAPI: &core.DownwardAPIVolumeSource{
		Items: []core.DownwardAPIVolumeFile{{Path: beatFile, FieldRef: &core.ObjectFieldSelector{FieldPath: "metadata.annotations['" +
			beatLabel + "']"}}},
	}}}}
	keeper.Spec.Containers = []core.Container{{
		Name: containerName, Image: r.opt.Spec.Image, Args: []string{Worker, workerKeep, beatFolder + "/" + beatFile, r.opt.Silence.String()},
		Resources:    smallRoom(),
		VolumeMounts: []core.VolumeMount{{Name: "beat", MountPath: beatFolder, ReadOnly: true}},
	}}
	confine(&keeper.Spec)
	return keeper
}

// deadline returns the Job's deadline in seconds: the limit of the run plus all waits before it applies.
func (r *Run) deadline() *int64 {
	if r.opt.Lifetime == 0 {
		return nil // the keeper's silence is bound enough
	}
	return new(seconds(r.opt.Lifetime + r.opt.Spec.QueueTimeout + r.opt.PullWait + r.opt.StartWait))
}

// createJob creates a Job. A request without an answer may have succeeded: createJob then finds the Job by
// its unique name.
func (r *Run) createJob(ctx context.Context, job *batch.Job) (made *batch.Job, err error) {
	jobs := r.client.Jobs(r.namespace)
	err = r.ask(ctx, func(ctx context.Context) (err error) {
		made, err = jobs.Create(ctx, job, meta.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			made, err = jobs.Get(ctx, job.Name, meta.GetOptions{})
		}
		return err
	})
	if err != nil {
		r.job = job.Name // which undo then removes, if it is there
		return nil, refusal(err)
	}
	return made, nil
}

// awaitKeeper returns the keeper's name once it runs.
func (r *Run) awaitKeeper(ctx context.Context) (string, error) {
	name := ""
	find := func(ctx context.Context) error {
		found, err := r.client.Pods(r.namespace).List(ctx, meta.ListOptions{LabelSelector: roleLabel + "=keeper," + runLabel + "=" +
			labelValue(r.opt.RunID)})
		if err != nil {
			return err
		}
		for _, p := range found.Items {
			if slices.ContainsFunc(p.OwnerReferences, func(o meta.OwnerReference) bool { return o.UID == r.owner.UID }) {
				name = p.Name
			}
		}
		return nil
	}
	limit := time.Now().Add(r.opt.StartWait)
	for name == "" {
		if err := r.ask(ctx, find); err != nil {
			return "", refusal(err)
		}
		if name != "" {
			break
		}
		if why := r.uncreatable(ctx); why != "" {
			return "", evictedf(steps.EvictionPodRefused, "Job %s gets no Pod: %s", r.job, why)
		}
		if time.Now().After(limit) {
			return "", evictedf(steps.EvictionPodNotStarted, "Job %s has no Pod after %s: %s", r.job, r.opt.StartWait,
				r.eventsOf(ctx, "Job", r.job))
		}
		if err := steps.Sleep(ctx, r.opt.Poll); err != nil {
			return "", err
		}
	}
	_, err := r.awaitPod(ctx, name, running)
	return name, err
}

// beatEvery is the time between two signs of life.
const beatEvery = 20 * time.Second

// beat sends the keeper a heartbeat: an annotation of its Pod, which it reads as a file. Errors are ignored,
// because others follow.
func (r *Run) beat(ctx context.Context, pod string) {
	for n := 1; steps.Sleep(ctx, min(beatEvery, r.opt.Silence/4)) == nil; n++ {
		once, cancel := context.WithTimeout(ctx, r.opt.CallWait)
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, beatLabel, n)
		_, _ = r.client.Pods(r.namespace).Patch(once, pod, types.MergePatchType, patch, meta.PatchOptions{})
		cancel()
	}
}

// Close removes all objects of the run and waits until they are gone, as long as ctx allows. The Job's
// deletion removes the rest, and the keeper's end removes the Job.
func (r *Run) Close(ctx context.Context) error {
	if r.beating != nil {
		r.beating()
		r.beaten.Wait()
	}
	if r.job == "" {
		return nil
	}
	if err := r.removeRun(ctx, r.job, r.opt.RunID); err != nil {
		return fmt.Errorf("what Job %s of namespace %s owns may still be there, at most for another %s: %w", r.job, r.namespace,
			r.opt.Silence, err)
	}
	r.job = ""
	return nil
}

// removeRun deletes the Job of a run and waits until all its Pods have ended.
func (c *cluster) removeRun(ctx context.Context, job, runID string) error {
	if err := c.removeJob(ctx, job); err != nil {
		return err
	}
	for {
		left := 0
		err := c.ask(ctx, func(ctx context.Context) error {
			found, err := c.client.Pods(c.namespace).List(ctx, meta.ListOptions{LabelSelector: runLabel + "=" + labelValue(runID)})
			if err == nil {
				left = len(found.Items)
			}
			return err
		})
		if err != nil || left == 0 {
			return err
		}
		if err := steps.Sleep(ctx, c.opt.Poll); err != nil {
			return err
		}
	}
}

// removeJob deletes a Job with all objects that it owns and waits until it is gone. Its Pods get no grace,
// since callers that wait have stopped its servers before.
func (c *cluster) removeJob(ctx context.Context, name string) error {
	jobs := c.client.Jobs(c.namespace)
	foreground := meta.DeletePropagationForeground
	for {
		err := c.ask(ctx, func(ctx context.Context) error {
			err := jobs.Delete(ctx, name, meta.DeleteOptions{PropagationPolicy: &foreground})
			if err == nil {
				_, err = jobs.Get(ctx, name, meta.GetOptions{})
			}
			return err
		})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := steps.Sleep(ctx, c.opt.Poll); err != nil {
			return err
		}
	}
}
