// Package kubernetes runs the servers of a plan as Pods of a cluster, on nodes that are chosen once.
// Services run on the first node, the router beside the load.
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
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kubernetes"
)

// Kind takes what the kubernetes block of a file places, unless it is simulated.
func Kind() place.Kind {
	return place.Kind{
		Name: "kubernetes",
		Takes: func(o place.Options, p place.Process) bool {
			spec := o.Config.Settings.Kubernetes
			return spec != nil && o.Plan.Simulated == "" && (p.Role != place.RoleRouter || spec.LoadNode != nil)
		},
		New: func(o place.Options) (place.Place, error) { return newPods(o) },
	}
}

// pods are the Pods of a run.
type pods struct {
	place.Base
	opt  place.Options
	spec steps.KubernetesSpec
	run  *kubernetes.Run // nil where they are only shown
	// first node of the run, for a machine that repeats have for themselves.
	first int
	// loads generate load on the nodes that the file names, one for each machine.
	loads []*kubernetes.Tasks
}

var _ place.Place = (*pods)(nil)

// stopLifetime is the while that a run which must have ended may take for stopping.
const stopLifetime = 15 * time.Minute

func newPods(opt place.Options) (*pods, error) {
	p := &pods{opt: opt, spec: *opt.Config.Settings.Kubernetes}
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

// unreachable puts an error of the cluster's configuration at its place in the file. Where the file says how
// the cluster is reached it is a fault of the file, else one of where the command runs.
func (p *pods) unreachable(err error) error {
	at := p.opt.Config.Settings.ClusterRange
	if p.spec.Kubeconfig+p.spec.Context == "" {
		return fmt.Errorf("%s:%d: the kubernetes block: %w", at.Filename, at.Start.Line, err)
	}
	return &engine.ConfigError{Addr: "kubernetes", Range: plan.Range(at), Err: hcl.Diagnostics{{
		Severity: hcl.DiagError, Summary: "the cluster cannot be found", Detail: diag.Sentence(err), Subject: &at,
	}}}
}

func (p *pods) options() (kubernetes.Options, error) {
	dir, err := filepath.Abs(p.opt.Dir)
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

// Open removes what an interrupted run has left, gets the nodes, and sees whether they are what a
// comparison needs.
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
	differences, err := p.nodes().Compare(p.opt)
	for _, text := range differences {
		p.opt.Warn(text)
	}
	return err
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

// wants is what each node must offer: room for the servers of each target there, or for those of all where they
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
		for _, s := range p.opt.Config.ServersOf(t.Addr) {
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

// How long the end of a run waits for the cluster.
const (
	releaseWait     = 30 * time.Second
	interruptedWait = 3 * time.Second // when the run was interrupted
)

// Close removes all that the run has made.
func (p *pods) Close(ctx context.Context) error {
	if p.run == nil {
		return nil
	}
	wait := releaseWait
	if ctx.Err() != nil {
		wait = interruptedWait
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	return p.run.Close(ending)
}

// Check implements place.Place.
func (p *pods) Check(t place.Target) []place.Problem {
	var found []place.Problem
	for _, process := range t.Processes {
		if err := p.check(process); err != nil {
			found = append(found, place.Problem{Process: process.Name, Err: fmt.Errorf("%s: %w", process.Name, err)})
		}
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
	return kubernetes.CheckContainer(process.Spec.NewContainer())
}

// CheckLoad implements place.Place: what delays answers runs beside the command.
func (p *pods) CheckLoad(_ steps.Workload, delayed bool) error {
	return place.CheckNodeLoad(p.spec.LoadNode, delayed)
}

// Unprofiled implements place.Place: nothing is copied out of a Pod.
func (p *pods) Unprofiled(place.Process, bool) error {
	return errors.New("it runs as a Pod, and what a profiler leaves in there is not copied out of it")
}

// GPUs implements place.Place: which they are is the cluster's choice.
func (p *pods) GPUs(place.Target, place.Process) place.GPUs { return place.GPUs{} }

// serviceNode is where the services of a deployment run.
const serviceNode = 0

// shownProgram stands for this program in the image, which is asked when a run begins.
const shownProgram = "pipeline"

// Assign implements place.Place. Processes that must reach each other use the network of their nodes,
// as in production, and because their addresses are known before they start.
func (p *pods) Assign(t place.Target, process place.Process, _ []string) (place.Slot, error) {
	node := process.Spec.Node
	process.Spec.Listen = place.AnyAddress // also the loopback address, where tunnels end
	switch process.Role {
	case place.RoleService:
		node = serviceNode
	case place.RoleRouter:
		node = *p.spec.LoadNode
	}
	node += p.first
	slot := place.Slot{Spec: process.Spec, Launcher: p.run.Launcher(node), Self: place.Self{Program: shownProgram, Image: p.spec.Image}}
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

// Here implements place.Place: nodes are other machines.
func (p *pods) Here(place.Process) bool { return false }

// Needs implements place.Place: nothing of this machine but what every file needs.
func (p *pods) Needs(doctor.Needs) doctor.Needs { return doctor.Needs{File: true} }

// nodes of the cluster that the run has.
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
