package session

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/slurm"
)

// cluster is the Slurm job on whose nodes the servers of a session run.
type cluster struct {
	spec steps.SlurmSpec
	job  *slurm.Job
	// first node of the job and count of the nodes that are used: those of a lane.
	first, count int
}

// onCluster says whether servers run on the nodes of a cluster: where the file says so,
// and not where the simulator takes their places.
func onCluster(opt Options) bool {
	return opt.Config.Settings.Slurm != nil && opt.Plan.Simulated == ""
}

// shownCluster stands for the job of a plan that is only shown, nil where there is none.
func shownCluster(opt Options) *cluster {
	if !onCluster(opt) {
		return nil
	}
	spec := *opt.Config.Settings.Slurm
	return &cluster{spec: spec, job: slurm.New(slurm.Options{Spec: spec})}
}

// How long the end of a session waits for Slurm.
const (
	freeJobWait    = 20 * time.Second
	hurriedJobWait = 3 * time.Second // when the session was told to end
	slurmConf      = "SLURM_CONF"
	slurmJob       = "SLURM_JOB_ID"
)

// allocate gets the nodes of the session, and returns what gives them back. Both are for
// nothing where no server runs on a cluster.
func (s *session) allocate(ctx context.Context) (*cluster, func(), error) {
	if !onCluster(s.opt) {
		return nil, func() {}, nil
	}
	opt := s.slurmOptions()
	if s.state != nil {
		left, err := slurm.Cleanup(ctx, opt, func(m slurm.Mark) bool { return m.RunID == s.runID })
		if err != nil {
			return nil, nil, fmt.Errorf("what the interrupted run left on the cluster cannot be ended: %w", err)
		}
		for _, l := range left {
			s.caution(fmt.Sprintf("Slurm %s %s, left by the interrupted run, was cancelled", l.Kind, l.ID))
		}
	}
	c := &cluster{spec: opt.Spec, job: slurm.New(opt)}
	if err := c.job.Allocate(ctx); err != nil {
		return nil, nil, fmt.Errorf("getting nodes of the cluster: %w", err)
	}
	s.tell(c.found())
	if err := s.meet(ctx, c); err != nil {
		s.free(ctx, c)
		return nil, nil, fmt.Errorf("looking at the nodes of the cluster: %w", err)
	}
	return c, func() { s.free(ctx, c) }, nil
}

// meet looks at the nodes: what they are, and whether those of a role are alike.
func (s *session) meet(ctx context.Context, c *cluster) error {
	if err := c.probeNodes(ctx); err != nil {
		return err
	}
	tell, err := c.unlike(s.opt)
	for _, text := range tell {
		s.caution(text)
	}
	if err != nil {
		return err
	}
	return c.meetLoadNodes(ctx, s.opt)
}

func (s *session) slurmOptions() slurm.Options {
	getenv := lookup(s.opt.Environ)
	opt := slurm.Options{
		Spec: *s.opt.Config.Settings.Slurm, Spawner: s.spawner, JobID: getenv(slurmJob),
		RunID: s.runID, Owner: spawn.Owner(), Unset: []string{spawn.MarkVar}, Folder: s.sharedFolder, Tell: s.tell,
	}
	if conf := getenv(slurmConf); conf != "" {
		opt.Env = []steps.EnvVar{{Name: slurmConf, Value: conf}}
	}
	if e := s.opt.Plan.Estimate; e.Launches > 0 {
		opt.Need = time.Duration(max(e.Seconds, e.Sequential) / float64(e.Launches) * float64(time.Second))
	}
	return opt
}

// sharedFolder is a folder of a launch by a path that means the same on the nodes.
func (s *session) sharedFolder(name string) (string, error) {
	dir, err := s.dir.Folder(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

// free gives the nodes back. That it fails is told and changes no verdict.
func (s *session) free(ctx context.Context, c *cluster) {
	wait := freeJobWait
	if ctx.Err() != nil {
		wait = hurriedJobWait
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	if err := c.job.Release(ending); err != nil {
		s.caution(err.Error())
	}
}

// tell says something that is not wrong.
func (s *session) tell(text string) {
	s.bus.Emit(event.Event{Type: event.Diagnostic, Severity: "info", Text: text})
}

// found says which nodes the session has.
func (c *cluster) found() string {
	names := make([]string, len(c.job.Nodes()))
	for i, n := range c.job.Nodes() {
		names[i] = n.Name
	}
	verb := "started"
	if c.job.Attached() {
		verb = "is used"
	}
	return fmt.Sprintf("Slurm job %s %s on %s", c.job.ID(), verb, strings.Join(names, ", "))
}

// places gives servers their nodes and GPUs: those that CUDA_VISIBLE_DEVICES names, by
// their number among the job's, else the next ones of the node that are free.
func (c *cluster) places(members []steps.Member) ([]slurm.Place, error) {
	taken := map[[2]int]string{}
	places := make([]slurm.Place, len(members))
	for i, m := range members {
		if m.Spec.URL != "" {
			continue
		}
		if m.Spec.Node >= c.spec.Nodes {
			return nil, fmt.Errorf("%s: node = %d is beyond the %d nodes of the slurm block, which count from 0", m.Name, m.Spec.Node, c.spec.Nodes)
		}
		if m.Spec.Image != "" {
			if err := slurm.CheckContainer(c.spec.Runtime, m.Spec.NewContainer()); err != nil {
				return nil, fmt.Errorf("%s: %w", m.Name, err)
			}
		}
		places[i].Node = m.Spec.Node
		for _, id := range clusterGPUs(m.Spec) {
			n, err := strconv.Atoi(id)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("%s: %s = %q does not name GPUs by their numbers, which is all that is known of a node beforehand", m.Name, visibleDevices, id)
			}
			if other := taken[[2]int{m.Spec.Node, n}]; other != "" {
				return nil, fmt.Errorf("servers %q and %q both name GPU %d of node %d; give each GPUs of its own", other, m.Name, n, m.Spec.Node)
			}
			taken[[2]int{m.Spec.Node, n}] = m.Name
			places[i].GPUs = append(places[i].GPUs, n)
		}
	}
	for i, m := range members {
		if m.Spec.URL != "" || len(places[i].GPUs) > 0 {
			continue
		}
		for n := 0; len(places[i].GPUs) < m.Spec.GPUs; n++ {
			if at := [2]int{m.Spec.Node, n}; taken[at] == "" {
				taken[at] = m.Name
				places[i].GPUs = append(places[i].GPUs, n)
			}
		}
	}
	for i, p := range places {
		if len(p.GPUs) > 0 && slices.Max(p.GPUs) >= c.spec.GPUsPerNode {
			return nil, fmt.Errorf("%s needs more GPUs of node %d than gpus_per_node = %d of the slurm block leaves", members[i].Name, p.Node, c.spec.GPUsPerNode)
		}
	}
	return places, nil
}

// clusterGPUs are those that the file names by CUDA_VISIBLE_DEVICES.
func clusterGPUs(spec steps.ServerSpec) []string {
	spec.Image, spec.Container = "", nil
	return namedGPUs(spec)
}

// onNode is a spec as a node runs it. Which GPUs it sees is set there.
func onNode(spec steps.ServerSpec) steps.ServerSpec {
	if spec.URL != "" {
		return spec
	}
	spec.Listen = anyAddress
	spec.Env = slices.DeleteFunc(slices.Clone(spec.Env), func(e steps.EnvVar) bool { return e.Name == visibleDevices })
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

// show puts the command line of the step in the place of the server's.
func (c *cluster) show(at slurm.Place, p steps.Process) (steps.Process, error) {
	argv, err := slurm.Show(c.spec, at, p)
	p.Argv = argv
	return p, err
}

// serviceNode is where the services of a deployment run.
const serviceNode = 0

func (d *deployment) serviceLauncher(name string) steps.Launcher {
	if d.cluster != nil {
		return d.cluster.launcher(slurm.Place{Node: serviceNode})
	}
	return d.ownLauncher(d.serviceInContainer(name))
}

// showSteps puts the command lines of steps in the place of those of members and services.
func (d *deployment) showSteps(rendered map[string]engine.Process) error {
	if d.cluster == nil {
		return nil
	}
	at := map[string]slurm.Place{}
	for i, p := range d.parts {
		at[p.Name] = d.places[i]
	}
	for name, r := range rendered {
		place := at[name]
		if name == kv.RouterName {
			node := d.cluster.loadNode()
			if node == nil {
				continue
			}
			place.Node = *node
		}
		p, err := d.cluster.show(place, r.Process)
		if err != nil {
			return err
		}
		rendered[name] = engine.Process{Process: p, ReadyURL: r.ReadyURL}
	}
	return nil
}

// misplaced finds what cannot be placed on the cluster of the file.
func misplaced(cfg *lang.Config) []*engine.ConfigError {
	c := &cluster{spec: *cfg.Settings.Slurm}
	var found []*engine.ConfigError
	check := func(addr string, at hcl.Range, members ...steps.Member) {
		if _, err := c.places(membersOf(spread(members))); err != nil {
			found = append(found, &engine.ConfigError{Addr: addr, Range: plan.Range(at), Err: err})
		}
	}
	inDeployment := map[string]bool{}
	for _, d := range cfg.Deployments {
		for _, s := range d.Servers {
			inDeployment[s.Addr] = true
		}
		check(d.Addr, d.Range, d.Spec.Members...)
	}
	for _, s := range cfg.Servers {
		if !inDeployment[s.Addr] {
			check(s.Addr, s.Range, steps.Member{Name: s.Addr, Spec: s.Spec})
		}
	}
	return found
}
