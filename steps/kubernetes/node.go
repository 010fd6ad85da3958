package kubernetes

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/servegate/pipeline/steps"
)

// Want holds the requirements of a node: room for each of some groups of servers, which run one group after
// the other. A node that only generates load has none.
type Want struct{ Groups [][]*steps.ContainerSpec }

// Node of a run.
type Node struct {
	Name string
	// Address at which others reach servers in the node's network.
	Address string
	// Program is the path of this program in our image.
	Program string
	// Facts of the machine.
	Facts map[string]string
	// Selector of the Pod that chose the node. It includes the labels of the flavor that a queue has added.
	Selector map[string]string
}

// Nodes of the run by their number, none before Open.
func (r *Run) Nodes() []Node { return r.nodes }

// Look holds the facts that this program prints about its machine.
type Look struct {
	Version string            `json:"version"`
	Program string            `json:"program"`
	Facts   map[string]string `json:"facts"`
	// Build identifies the program if its version is ambiguous.
	Build build `json:"build,omitzero"`
}

// chooseNodes lets the scheduler choose a distinct node for each want, by Pods with the same requests as the
// servers. The Pods inspect their machines. All exist at the same time, and are gone when chooseNodes
// returns.
func (r *Run) chooseNodes(ctx context.Context, wants []Want) error {
	r.nodes = make([]Node, len(wants))
	names, errs, builds := make([]string, len(wants)), make([]error, len(wants)), make([]build, len(wants))
	var all sync.WaitGroup
	for i, w := range wants {
		pod := r.lookPod(i, w)
		names[i] = pod.Name
		all.Go(func() { r.nodes[i], builds[i], errs[i] = r.lookAt(ctx, pod) })
	}
	all.Wait()
	if errors.Join(errs...) == nil {
		r.compareBuilds(builds)
	}
	for _, name := range names {
		errs = append(errs, r.discard(ctx, name, ""))
	}
	return errors.Join(errs...)
}

func (r *Run) lookPod(number int, w Want) *core.Pod {
	pod := r.bare(fmt.Sprintf("node%d", number), "node")
	main := core.Container{Name: containerName, Image: r.opt.Spec.Image, Args: []string{Worker, workerLook}, Resources: r.room(number, w)}
	if gpus := main.Resources.Limits[core.ResourceName(r.opt.Spec.GPUResource)]; !gpus.IsZero() && r.opt.Spec.Queue != "" {
		pod.Labels[queueLabel] = r.opt.Spec.Queue
	}
	pod.Spec.Containers = []core.Container{main}
	pod.Spec.Volumes = claims(w)
	confine(&pod.Spec)
	pod.Spec.Affinity = &core.Affinity{PodAntiAffinity: &core.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []core.PodAffinityTerm{{
			LabelSelector: &meta.LabelSelector{MatchLabels: map[string]string{runLabel: pod.Labels[runLabel], roleLabel: "node"}},
			TopologyKey:   core.LabelHostname,
		}},
	}}
	return pod
}

// room returns the maximum of each resource over the groups of servers, plus the load generator's share if it
// runs on the node. For a node without servers it returns the load generator's share.
func (r *Run) room(number int, w Want) core.ResourceRequirements {
	if len(slices.Concat(w.Groups...)) == 0 {
		return r.loadRoom()
	}
	most := core.ResourceList{}
	for _, group := range w.Groups {
		sum := core.ResourceList{}
		for _, server := range group {
			for name, amount := range r.resources(server).Requests {
				amount.Add(sum[name])
				sum[name] = amount
			}
		}
		for name, amount := range sum {
			if before := most[name]; amount.Cmp(before) > 0 {
				most[name] = amount
			}
		}
	}
	if r.opt.Spec.LoadNode != nil && *r.opt.Spec.LoadNode == number {
		for name, amount := range r.loadRoom().Requests {
			amount.Add(most[name])
			most[name] = amount
		}
	}
	return requirements(most)
}

// claims returns the volumes of all servers of a node. They make the scheduler choose a node that can mount
// them. No container mounts them.
func claims(w Want) []core.Volume {
	var out []core.Volume
	seen := map[string]bool{}
	for _, server := range slices.Concat(w.Groups...) {
		for _, v := range server.Volumes {
			if seen[v.Name] {
				continue
			}
			seen[v.Name] = true
			out = append(out, core.Volume{Name: fmt.Sprintf("v%d", len(out)), VolumeSource: claim(v)})
		}
	}
	return out
}

// compareBuilds warns if the program on the nodes may differ from this one although both have the same
// ambiguous version.
func (r *Run) compareBuilds(theirs []build) {
	if released(r.opt.Version) {
		return
	}
	ours, err := buildOf(r.opt.Self)
	if err != nil {
		r.opt.Warn(fmt.Sprintf("whether image %s has this program cannot be told: %v", r.opt.Spec.Image, err))
		return
	}
	for _, b := range theirs {
		if text := doubt(r.opt.Spec.Image, r.opt.Version, b, ours); text != "" {
			r.opt.Warn(text)
			return
		}
	}
}

// lookAt creates a Pod that inspects its node, and reads its output.
func (r *Run) lookAt(ctx context.Context, pod *core.Pod) (Node, build, error) {
	if err := r.create(ctx, pod); err != nil {
		return Node{}, build{}, err
	}
	now, err := r.awaitPod(ctx, pod.Name, running)
	if err != nil {
		return Node{}, build{}, err
	}
	if queue := pod.Labels[queueLabel]; queue != "" && now.Labels[queuedLabel] == "" {
		r.unqueued.Do(func() {
			r.opt.Warn(fmt.Sprintf("queue %q does not admit the Pods of this run: no Kueue whose integration of Pods is on sees namespace %s",
				queue, r.namespace))
		})
	}
	look, err := r.readLook(ctx, pod.Name)
	if err != nil {
		return Node{}, build{}, err
	}
	if look.Version != r.opt.Version {
		return Node{}, build{}, fmt.Errorf("image %s has version %q of this program, and this is %q; build it from the same one",
			r.opt.Spec.Image, look.Version, r.opt.Version)
	}
	return Node{Name: now.Spec.NodeName, Address: now.Status.HostIP, Program: look.Program, Facts: look.Facts,
		Selector: now.Spec.NodeSelector}, look.Build, nil
}

// killed is the exit status of a process that the kernel has killed.
const killed = 128 + int32(syscall.SIGKILL)

// readLook reads the line of a Pod that looks, which then waits to be removed.
func (r *Run) readLook(ctx context.Context, pod string) (Look, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.opt.StartWait, errors.New("it printed nothing in time"))
	defer cancel()
	for {
		var text []byte
		err := r.ask(ctx, func(ctx context.Context) (err error) {
			text, err = r.logs(pod, &core.PodLogOptions{}).DoRaw(ctx)
			return err
		})
		if err != nil {
			return Look{}, fmt.Errorf("looking at a node: %w", err)
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		for lines.Scan() {
			var found Look
			if json.Unmarshal(lines.Bytes(), &found) == nil && found.Program != "" {
				return found, nil
			}
		}
		now, err := r.get(ctx, pod)
		if err != nil {
			return Look{}, err
		}
		switch t := stateOf(now).Terminated; {
		case t == nil:
		case t.ExitCode == killed: // only the kernel kills it; the kubelet does not always report why
			return Look{}, fmt.Errorf("looking at node %s: Pod %s was killed: %s: its limit of memory is %s", now.Spec.NodeName, pod,
				exitState(t), memoryLimit(now))
		default:
			return Look{}, fmt.Errorf("image %s does not have this program as its entrypoint: %s: %s", r.opt.Spec.Image, exitState(t),
				steps.Line(string(text), maxReason))
		}
		if err := steps.Sleep(ctx, r.opt.Poll); err != nil {
			return Look{}, fmt.Errorf("looking at a node: %w", err)
		}
	}
}

// prepare pulls an image on a node, once for a run, by a Pod that ends whatever its image is: its
// command is not there.
func (r *Run) prepare(ctx context.Context, node int, c *steps.ContainerSpec) (id string, err error) {
	key := fmt.Sprint(node, " ", c.Image)
	if known, ok := r.images.Load(key); ok {
		return known.(string), nil //nolint:forcetypeassert // only texts are stored
	}
	pod := r.pullPod(r.nodes[node], c)
	defer func() { err = errors.Join(err, r.discard(ctx, pod.Name, "")) }()
	if err := r.create(ctx, pod); err != nil {
		return "", err
	}
	now, err := r.awaitPod(ctx, pod.Name, pulled)
	if err != nil {
		return "", err
	}
	r.images.Store(key, imageID(now))
	return imageID(now), nil
}

// pullPod describes a Pod that pulls an image on a node.
func (r *Run) pullPod(node Node, c *steps.ContainerSpec) *core.Pod {
	pod := r.bare("pull", "pull")
	pod.Spec.Containers = []core.Container{{
		Name: containerName, Image: c.Image, ImagePullPolicy: pullPolicies[c.Pull], Command: []string{"/pipeline-only-pulls-this-image"},
		Resources: smallRoom(),
	}}
	bind(&pod.Spec, node.Name)
	confine(&pod.Spec)
	return pod
}

// pullPolicies maps the pull setting of a container block to the policy of a Pod.
var pullPolicies = map[string]core.PullPolicy{
	"": core.PullIfNotPresent, steps.PullMissing: core.PullIfNotPresent, steps.PullAlways: core.PullAlways, steps.PullNever: core.PullNever,
}

// Address of a node, or its symbol before there is one.
func (r *Run) Address(node int) string {
	if r == nil || node >= len(r.nodes) {
		return fmt.Sprintf("NODE%d", node)
	}
	return r.nodes[node].Address
}

// hostPort of a server.
func hostPort(address string, port int) string { return net.JoinHostPort(address, fmt.Sprint(port)) }
