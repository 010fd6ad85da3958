// Package kubernetes runs the servers of a plan as Pods of a cluster, on nodes that are chosen once. Services
// run on the first node, the router beside the load.
package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kubernetes"
)

// Kind takes the processes that the kubernetes block of a file places, unless they are simulated.
func Kind() place.Kind {
	return place.Kind{
		Name:       "kubernetes",
		Containers: []steps.ContainerSupport{kubernetes.Containers()},
		Cleaner:    cleaner,
		Examine:    examine,
		Takes: func(o place.Options, p place.Process) bool {
			spec := o.Plan.Config.Settings.Kubernetes
			return spec != nil && o.Plan.Simulated == "" && (p.Role != place.RoleRouter || spec.LoadNode != nil)
		},
		New: func(o place.Options) (place.Place, error) { return newPods(o) },
	}
}

// pods holds the Pods of a run.
type pods struct {
	place.Base
	opt  place.Options
	spec steps.KubernetesSpec
	run  *kubernetes.Run // nil if only shown
	// first is the first node of the run's part, for concurrent repeats.
	first int
	// loads generate load on the nodes that the file names, one per machine.
	loads []*kubernetes.Tasks
}

var _ place.Place = (*pods)(nil)

// stopLifetime is the extra lifetime of Pods for stopping, after the latest end of the run.
const stopLifetime = 15 * time.Minute

func newPods(opt place.Options) (*pods, error) {
	p := &pods{opt: opt, spec: *opt.Plan.Config.Settings.Kubernetes}
	if opt.Shown {
		return p, nil
	}
	settings, err := p.options()
	if err != nil {
		return nil, err
	}
	if p.run, err = kubernetes.New(settings); err != nil {
		return nil, p.unreachable(err)
	}
	for _, node := range place.LoadNodes(p.opt.Plan, p.spec.LoadNode) {
		p.loads = append(p.loads, p.run.Tasks(node))
	}
	return p, nil
}

// unreachable adds the place in the file to an error of the cluster's configuration. If the file sets how the
// cluster is reached, the file is wrong; else the environment of the command is.
func (p *pods) unreachable(err error) error {
	at := p.opt.Plan.Config.Settings.ClusterRange
	if p.spec.Kubeconfig+p.spec.Context == "" {
		return fmt.Errorf("%s:%d: the kubernetes block: %w", at.Filename, at.Start.Line, err)
	}
	return &engine.ConfigError{Addr: "kubernetes", Err: hcl.Diagnostics{{
		Severity: hcl.DiagError, Summary: "the cluster cannot be found", Detail: diag.Sentence(err), Subject: &at,
	}}}
}

func (p *pods) options() (kubernetes.Options, error) {
	dir, err := filepath.Abs(p.opt.Plan.Config.Folder)
	if err != nil {
		return kubernetes.Options{}, err
	}
	var lifetime time.Duration
	if p.opt.Plan.Timeout > 0 {
		lifetime = time.Duration(p.opt.Plan.Timeout*float64(time.Second)) + stopLifetime
	}
	return kubernetes.Options{
		Spec: p.spec, Dir: dir, Getenv: p.opt.Getenv, RunID: p.opt.RunID, Owner: spawn.Owner(), Version: p.opt.Version, Self: p.opt.Self,
		Lifetime: lifetime, Tell: p.opt.Info, Warn: p.opt.Warn,
	}, nil
}

// Open removes what an interrupted run left, gets the nodes, and checks that they suit a comparison.
func (p *pods) Open(ctx context.Context) error {
	if p.opt.Resumed {
		if err := p.removeLeft(ctx); err != nil {
			return err
		}
	}
	if err := p.run.Open(ctx, p.wants()); err != nil {
		return fmt.Errorf("getting nodes of the Kubernetes cluster: %w", err)
	}
	for i, n := range p.run.Nodes() {
		p.opt.Info(fmt.Sprintf("node %d is %s of the Kubernetes cluster, namespace %s", i, n.Name, p.run.Namespace()))
	}
	return p.nodes().Compare(p.opt)
}

func (p *pods) removeLeft(ctx context.Context) error {
	settings, err := p.options()
	if err != nil {
		return err
	}
	found, err := kubernetes.Cleanup(ctx, settings, func(run, _ string) bool { return run == p.opt.RunID })
	if err != nil {
		return fmt.Errorf("what the interrupted run left in the cluster cannot be removed: %w", err)
	}
	for _, l := range found.Left {
		p.opt.Warn(fmt.Sprintf("Job %s of namespace %s, left by the interrupted run, was removed", l.Job, l.Namespace))
	}
	return nil
}

// wants returns what each node must offer: room for the servers of any one target, or of all targets if they
// stay loaded together.
func (p *pods) wants() []kubernetes.Want {
	var out []kubernetes.Want
	grow := func(node int) {
		for len(out) <= node {
			out = append(out, kubernetes.Want{})
		}
	}
	if node := p.spec.LoadNode; node != nil {
		grow(*node)
	}
	for i, t := range p.opt.Plan.Targets {
		var members []steps.Member
		for _, s := range p.opt.Plan.Config.ServersOf(t.Addr) {
			members = append(members, steps.Member{Spec: s.Spec})
		}
		group := i
		if p.opt.Plan.Resident != "" {
			group = 0
		}
		for _, part := range place.Spread(members) {
			if part.Spec.URL != "" {
				continue
			}
			grow(part.Spec.Node)
			w := &out[part.Spec.Node]
			for len(w.Groups) <= group {
				w.Groups = append(w.Groups, nil)
			}
			w.Groups[group] = append(w.Groups[group], part.Spec.NewContainer())
		}
	}
	lanes, _ := place.LanesOf(p.opt.Plan)
	return slices.Repeat(out, lanes)
}

// releaseWait limits the time that the end of a run waits for the cluster.
const releaseWait = 30 * time.Second

// Close removes everything that the run created.
func (p *pods) Close(ctx context.Context) error {
	if p.run == nil {
		return nil
	}
	ending, cancel := place.Ending(ctx, releaseWait)
	defer cancel()
	return p.run.Close(ending)
}

// Check implements place.Place.
func (p *pods) Check(t place.Target) (found []error) {
	for _, process := range t.Processes {
		if err := p.check(process); err != nil {
			found = append(found, fmt.Errorf("%s: %w", process.Name, err))
		}
		found = append(found, place.UnsupportedBy(kubernetes.Containers(), process)...)
	}
	return found
}

func (p *pods) check(process place.Process) error {
	if process.Role == place.RoleRouter || process.Spec.URL != "" {
		return nil
	}
	if !process.Contained {
		return errors.New("it is an executable, and what the kubernetes block places runs as a Pod; give it an image")
	}
	if process.Role == place.RoleService {
		return nil
	}
	if _, named := steps.Getenv(process.Spec.Env, place.VisibleDevices); named {
		return errors.New("it names its GPUs, which the cluster chooses; state their number by gpus, and leave " + place.VisibleDevices + " out")
	}
	return nil
}

// CheckLoad implements place.Place. The program that delays responses runs beside the command.
func (p *pods) CheckLoad(_ steps.Workload, delayed bool) error {
	return place.CheckNodeLoad(p.spec.LoadNode, delayed)
}

// Unprofiled implements place.Place. Files are not copied out of a Pod.
func (p *pods) Unprofiled(place.Process, bool) error {
	return errors.New("it runs as a Pod, and what a profiler leaves in there is not copied out of it")
}

// GPUs implements place.Place. The cluster chooses the GPUs.
func (p *pods) GPUs(place.Target, place.Process) place.GPUs { return place.GPUs{} }

// serviceNode is the node for the services of a deployment.
const serviceNode = 0

// shownProgram stands for this program in the image, whose path is queried when a run begins.
const shownProgram = "pipeline"

// Assign implements place.Place. Processes that must reach each other use the network of their nodes, as in
// production, and because their addresses are then known before they start.
func (p *pods) Assign(t place.Target, process place.Process, _ []string) (place.Slot, error) {
	node := process.Spec.Node
	process.Spec.Listen = place.AnyAddress // includes the loopback address, where tunnels end
	switch process.Role {
	case place.RoleService:
		node = serviceNode
	case place.RoleRouter:
		node = *p.spec.LoadNode
	}
	node += p.first
	slot := place.Slot{Spec: process.Spec, Launcher: p.run.Launcher(node), Self: place.Self{Program: shownProgram, Image: p.spec.Image}}
	if p.run == nil {
		slot.Manifest = func(shown steps.Process) (string, error) {
			return kubernetes.Manifest(p.spec, shown, fmt.Sprintf("NODE(%d)", node))
		}
	}
	if p.run != nil && node < len(p.run.Nodes()) {
		slot.Self.Program = p.run.Nodes()[node].Program
	}
	if process.Role != place.RoleServer {
		slot.Host = p.run.Address(node)
		return slot, nil
	}
	if t.Together || process.Spec.Spread() {
		slot.Spec = place.OnHostNetwork(slot.Spec)
	}
	if c := slot.Spec.Container; c != nil && c.Network == steps.NetworkHost {
		slot.Host = p.run.Address(node)
	}
	return slot, nil
}

// Here implements place.Place. The nodes are other machines.
func (p *pods) Here(place.Process) bool { return false }

// Needs implements place.Place. The run needs nothing special of this machine.
func (p *pods) Needs(doctor.Needs) doctor.Needs { return doctor.Needs{File: true} }

// nodes returns the nodes of the run.
func (p *pods) nodes() place.Nodes {
	lanes, width := place.LanesOf(p.opt.Plan)
	out := place.Nodes{
		Kind: "kubernetes", Lanes: lanes, Width: width, Load: place.LoadNodes(p.opt.Plan, p.spec.LoadNode), LoadAs: "a Pod",
		LoadHere: "where the command runs, beside the Pods",
		Advice:   "choose them by node_selector in the kubernetes block",
	}
	for _, n := range p.run.Nodes() {
		out.List = append(out.List, place.Node{Name: n.Name, Facts: n.Facts})
	}
	return out
}

// Facts implements place.Place.
func (p *pods) Facts(here map[string]string) map[string]string { return p.nodes().Facts(here) }
