package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/servegate/pipeline/steps"
)

// TaskFolder is a folder of the Pod of tasks that they may write to.
const TaskFolder = "/var/run/pipeline/tasks"

// Tasks starts commands of this program in a Pod of a node, which it creates for the first command.
type Tasks struct {
	run  *Run
	node int

	mu  sync.Mutex
	pod *core.Pod
}

// Tasks on a node, by its number.
func (r *Run) Tasks(node int) *Tasks { return &Tasks{run: r, node: node} }

// place returns the Pod of the tasks. It replaces a Pod that was lost since the last task.
func (t *Tasks) place(ctx context.Context) (*core.Pod, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pod != nil {
		why, err := t.gone(ctx)
		if err != nil || why == nil {
			return t.pod, err
		}
		t.run.opt.Tell(fmt.Sprintf("the Pod of the load generator is replaced: %v", why))
		if err := t.run.discard(ctx, t.pod.Name, ""); err != nil {
			return nil, err
		}
		t.pod = nil
	}
	made, err := t.make(ctx)
	t.pod = made
	return made, err
}

// gone returns why the Pod cannot run more tasks, or nil.
func (t *Tasks) gone(ctx context.Context) (why, err error) {
	now, err := t.run.get(ctx, t.pod.Name)
	if apierrors.IsNotFound(err) {
		return t.run.deleted(t.pod), nil
	}
	if err != nil {
		return nil, refusal(err)
	}
	if why := t.run.takenAway(now); why != nil {
		return why, nil
	}
	if ended := stateOf(now).Terminated; ended != nil {
		return fmt.Errorf("its container on node %s has ended: %s", now.Spec.NodeName, exitState(ended)), nil
	}
	return nil, nil
}

// make creates the Pod and waits until it runs.
func (t *Tasks) make(ctx context.Context) (*core.Pod, error) {
	r := t.run
	pod := r.loadPod(t.node, r.nodes[t.node])
	if err := r.create(ctx, pod); err != nil {
		return nil, err
	}
	now, err := r.awaitPod(ctx, pod.Name, running)
	if err != nil {
		return nil, errors.Join(err, r.discard(ctx, pod.Name, ""))
	}
	return now, nil
}

// loadPod describes the Pod of the load generator on a node.
func (r *Run) loadPod(number int, node Node) *core.Pod {
	pod := r.bare(fmt.Sprintf("load%d", number), "load")
	pod.Spec.HostNetwork = true // no bridge between the client and the server
	pod.Spec.Containers = []core.Container{{
		Name: containerName, Image: r.opt.Spec.Image, Args: []string{Worker, workerWait},
		VolumeMounts: []core.VolumeMount{{Name: "work", MountPath: TaskFolder}}, Resources: r.loadRoom(),
	}}
	pod.Spec.Volumes = []core.Volume{{Name: "work", VolumeSource: core.VolumeSource{EmptyDir: &core.EmptyDirVolumeSource{}}}}
	bind(&pod.Spec, node.Name)
	confine(&pod.Spec)
	return pod
}

// Stream starts a command of this program in the Pod, given by its words after the program, with an input. Its
// child can only be killed.
func (t *Tasks) Stream(ctx context.Context, words []string, in io.Reader, out, log io.Writer) (steps.Child, error) {
	pod, err := t.place(ctx)
	if err != nil {
		return nil, err
	}
	executor, err := t.run.executor(pod.Name, append([]string{t.run.nodes[t.node].Program}, words...))
	if err != nil {
		return nil, err
	}
	alive, stop := context.WithCancel(context.Background()) // not ctx, which bounds the start alone
	child := &task{run: t.run, pod: pod, kill: stop, done: make(chan struct{})}
	go func() {
		defer close(child.done)
		defer stop()
		child.err = executor.StreamWithContext(alive, remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: log})
	}()
	return child, nil
}

// executor of a command in a Pod: over a WebSocket, or as older API servers know it.
func (r *Run) executor(pod string, argv []string) (remotecommand.Executor, error) {
	to := r.client.PodURL(r.namespace, pod, "exec",
		&core.PodExecOptions{Container: containerName, Command: argv, Stdin: true, Stdout: true, Stderr: true})
	socket, err := remotecommand.NewWebSocketExecutor(r.config, http.MethodGet, to.String())
	if err != nil {
		return nil, err
	}
	older, err := remotecommand.NewSPDYExecutor(r.config, http.MethodPost, to)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(socket, older, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}

// task is a command as a child.
type task struct {
	run  *Run
	pod  *core.Pod
	kill context.CancelFunc
	done chan struct{}
	err  error // valid once done is closed
}

var _ steps.Child = (*task)(nil)

// PID is not known here.
func (t *task) PID() int { return 0 }

// Done is closed when the command has ended.
func (t *task) Done() <-chan struct{} { return t.done }

// Wait waits for the command.
func (t *task) Wait() error {
	<-t.done
	return t.err
}

// Signal ends the stream to the command, which ends with its input. Only a kill can be sent.
func (t *task) Signal(name string) error {
	if name != "KILL" {
		return fmt.Errorf("SIG%s cannot be sent into a Pod", name)
	}
	t.kill()
	return nil
}

// Capabilities implements steps.Child.
func (t *task) Capabilities() steps.ChildCapabilities {
	return steps.ChildCapabilities{Evicted: t.evicted}
}

// evicted returns an error if the Pod or its node was lost.
func (t *task) evicted(ctx context.Context) error {
	now, err := t.run.get(ctx, t.pod.Name)
	switch {
	case apierrors.IsNotFound(err):
		return t.run.deleted(t.pod)
	case err != nil:
		return placeLoss(err)
	}
	if err := t.run.takenAway(now); err != nil {
		return err
	}
	return t.run.kubeletSilent(ctx, now)
}
