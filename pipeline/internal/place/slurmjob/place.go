// Package slurmjob runs the servers of a plan on the nodes of a Slurm job: one that it submits, or the one in
// which this program runs. Services run on the first node, the router beside the load, and concurrent repeats
// on lanes of nodes.
package slurmjob

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/slurm"
)

// Kind takes the processes that the slurm block of a file places, unless they are simulated.
func Kind() place.Kind {
	return place.Kind{
		Name:       "slurm",
		Containers: []steps.ContainerSupport{slurm.Containers(steps.RuntimePyxis), slurm.Containers(steps.RuntimeApptainer)},
		Cleaner:    cleaner,
		Takes: func(o place.Options, p place.Process) bool {
			spec := o.Plan.Config.Settings.Slurm
			return spec != nil && o.Plan.Simulated == "" && (p.Role != place.RoleRouter || spec.LoadNode != nil)
		},
		New: func(o place.Options) (place.Place, error) { return newJob(o), nil },
	}
}

// job is the Slurm job that runs the servers of a run, or the part of it for a lane.
type job struct {
	place.Base
	opt  place.Options
	spec steps.SlurmSpec
	job  *slurm.Job
	// first is the first node, and count the number of nodes, of the job or of a lane.
	first, count int
}

var _ place.Place = (*job)(nil)

func newJob(opt place.Options) *job {
	j := &job{opt: opt, spec: *opt.Plan.Config.Settings.Slurm}
	j.count = j.spec.Nodes
	j.job = slurm.New(j.options())
	return j
}

// Environment variables of Slurm's commands.
const (
	slurmConf = "SLURM_CONF"
	slurmJob  = "SLURM_JOB_ID"
)

func (j *job) options() slurm.Options {
	if j.opt.Shown {
		return slurm.Options{Spec: j.spec}
	}
	out := slurm.Options{
		Spec: j.spec, Spawner: j.opt.Spawner, JobID: j.opt.Getenv(slurmJob),
		RunID: j.opt.RunID, Owner: spawn.Owner(), Unset: []string{spawn.MarkVar}, Folder: j.sharedFolder, Tell: j.opt.Info,
	}
	if conf := j.opt.Getenv(slurmConf); conf != "" {
		out.Env = []steps.EnvVar{{Name: slurmConf, Value: conf}}
	}
	if e := j.opt.Plan.Estimate; e.Launches > 0 {
		out.Need = time.Duration(max(e.Seconds, e.Sequential) / float64(e.Launches) * float64(time.Second))
	}
	return out
}

// sharedFolder makes a folder for a launch and returns its absolute path, which is valid on the nodes as well.
func (j *job) sharedFolder(name string) (string, error) {
	dir, err := j.opt.Folder(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

// Open ends what an interrupted run left, gets the nodes, and checks that they suit a comparison.
func (j *job) Open(ctx context.Context) error {
	if j.opt.Resumed {
		left, err := slurm.Cleanup(ctx, j.options(), func(m slurm.Mark) bool { return m.RunID == j.opt.RunID })
		if err != nil {
			return fmt.Errorf("what the interrupted run left on the cluster cannot be ended: %w", err)
		}
		for _, l := range left {
			j.opt.Warn(fmt.Sprintf("Slurm %s %s, left by the interrupted run, was cancelled", l.Kind, l.ID))
		}
	}
	if err := j.job.Allocate(ctx); err != nil {
		return fmt.Errorf("getting nodes of the cluster: %w", err)
	}
	j.opt.Info(j.allocated())
	if err := j.checkNodes(ctx); err != nil {
		return fmt.Errorf("looking at the nodes of the cluster: %w", err)
	}
	return nil
}

// checkNodes describes the nodes, and checks that those of a role are alike.
func (j *job) checkNodes(ctx context.Context) error {
	if err := j.probeNodes(ctx); err != nil {
		return err
	}
	if err := j.nodes().Compare(j.opt); err != nil {
		return err
	}
	return j.checkLoadNodes(ctx)
}

// releaseWait limits the time that the end of a run waits for Slurm.
const releaseWait = 20 * time.Second

// Close gives the nodes back. A failure does not change a verdict.
func (j *job) Close(ctx context.Context) error {
	ending, cancel := place.Ending(ctx, releaseWait)
	defer cancel()
	return j.job.Release(ending)
}

// allocated describes the nodes of the run.
func (j *job) allocated() string {
	names := make([]string, len(j.job.Nodes()))
	for i, n := range j.job.Nodes() {
		names[i] = n.Name
	}
	verb := "started"
	if j.job.Attached() {
		verb = "is used"
	}
	return fmt.Sprintf("Slurm job %s %s on %s", j.job.ID(), verb, strings.Join(names, ", "))
}

// Check implements place.Place.
func (j *job) Check(t place.Target) (found []error) {
	for _, p := range t.Processes {
		if err := j.check(p); err != nil {
			found = append(found, err)
		}
		found = append(found, place.UnsupportedBy(slurm.Containers(j.spec.Runtime), p)...)
	}
	return found
}

func (j *job) check(p place.Process) error {
	if p.Role != place.RoleServer || p.Spec.URL != "" {
		return nil
	}
	if p.Spec.Node >= j.spec.Nodes {
		return fmt.Errorf("%s: node = %d is beyond the %d nodes of the slurm block, which count from 0", p.Name, p.Spec.Node, j.spec.Nodes)
	}
	for _, id := range j.GPUs(place.Target{}, p).Named {
		if n, err := strconv.Atoi(id); err != nil || n < 0 {
			return fmt.Errorf("%s: %s = %q does not name GPUs by their numbers, which is all that is known of a node beforehand", p.Name,
				place.VisibleDevices, id)
		}
	}
	return nil
}

// CheckLoad implements place.Place. The program that delays responses runs beside the command.
func (j *job) CheckLoad(_ steps.Workload, delayed bool) error {
	return place.CheckNodeLoad(j.spec.LoadNode, delayed)
}

// Unprofiled implements place.Place. Files cannot be copied out of an image that Slurm starts, and no program
// can run beside a step.
func (j *job) Unprofiled(p place.Process, around bool) error {
	switch {
	case p.Spec.Image != "":
		return errors.New("its image is started by Slurm, and what a profiler leaves in there cannot be copied out of it; install the engine " +
			"where the nodes find it, and set executable")
	case around:
		return errors.New("it is a step of a Slurm job, in which nsys cannot be told when to record; take the profiler \"torch\"")
	}
	return nil
}

// GPUs implements place.Place. It returns the GPUs that the environment names, by number among the job's, else
// the requested number. It ignores the container's request, which applies to Docker.
func (j *job) GPUs(_ place.Target, p place.Process) place.GPUs {
	spec := p.Spec
	spec.Image, spec.Container = "", nil
	w := place.DeclaredGPUs(spec, fmt.Sprintf("node %d", spec.Node))
	if w.Limit = &j.spec.GPUsPerNode; len(w.Named) == 0 {
		w.Count = spec.GPUs
	}
	return w
}

// Assign implements place.Place.
func (j *job) Assign(t place.Target, p place.Process, gpus []string) (place.Slot, error) {
	at, err := j.at(t, p, gpus)
	if err != nil {
		return place.Slot{}, err
	}
	host, err := j.address(at.Node)
	if err != nil {
		return place.Slot{}, err
	}
	launched := at
	launched.Node += j.first
	spec := onNode(p.Spec, j.opt.Plan.Config.Folder)
	if p.Role == place.RoleRouter {
		spec.Listen = "" // reached only at its node's address
	}
	return place.Slot{
		Spec: spec, Host: host, Launcher: j.job.Launcher(launched), Self: place.Self{Program: j.opt.Self},
		Show: func(p steps.Process) (steps.Process, error) {
			argv, err := slurm.Show(j.spec, at, p)
			p.Argv = argv
			return p, err
		},
	}, nil
}

// serviceNode is the node for the services of a deployment.
const serviceNode = 0

// at returns the place of a process among the nodes of the lane.
func (j *job) at(t place.Target, p place.Process, gpus []string) (slurm.Place, error) {
	switch p.Role {
	case place.RoleService:
		return slurm.Place{Node: serviceNode}, nil
	case place.RoleRouter:
		return slurm.Place{Node: *j.spec.LoadNode}, nil
	}
	at := slurm.Place{Node: p.Spec.Node}
	for _, id := range slices.Concat(j.GPUs(t, p).Named, gpus) {
		n, err := strconv.Atoi(id)
		if err != nil {
			return at, err // Check rejects this
		}
		at.GPUs = append(at.GPUs, n)
	}
	return at, nil
}

// address returns the address of a node of the lane, or its symbol before allocation.
func (j *job) address(node int) (string, error) {
	if len(j.job.Nodes()) == 0 {
		return fmt.Sprintf("NODE%d", node), nil
	}
	if node >= j.count {
		return "", fmt.Errorf("node %d is beyond the %d nodes that a repeat has", node, j.count)
	}
	return j.job.Address(j.first + node)
}

// onNode returns a spec for a node: with paths valid there, reachable from other nodes. The step sets the
// visible GPUs.
func onNode(spec steps.ServerSpec, dir string) steps.ServerSpec {
	if spec.Image == "" {
		spec = place.InFolder(spec, dir)
	}
	spec.Listen = place.AnyAddress
	spec.Env = steps.WithoutEnv(spec.Env, place.VisibleDevices)
	if dir, err := filepath.Abs(spec.Dir); err == nil && spec.Dir != "" {
		spec.Dir = dir
	}
	if len(spec.Executable) > 0 && strings.ContainsRune(spec.Executable[0], filepath.Separator) {
		if program, err := filepath.Abs(spec.Executable[0]); err == nil {
			spec.Executable = append([]string{program}, spec.Executable[1:]...)
		}
	}
	return spec
}

// Here implements place.Place. The nodes are other machines.
func (j *job) Here(place.Process) bool { return false }
