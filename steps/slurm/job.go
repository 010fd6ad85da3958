package slurm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
)

// Job is the allocation of a run.
type Job struct {
	opt   Options
	id    string
	ours  bool // created by this run, and ends with it
	nodes []Node
	steps atomic.Int64 // number started

	// over means that the job was lost. dead holds the numbers of lost nodes.
	over atomic.Bool
	dead sync.Map
	told sync.Map // drained nodes already reported
}

// Node is a node of a job.
type Node struct {
	Name string
	// Address at which its servers can be reached.
	Address string
	// Facts are what Slurm reports about it, for the record.
	Facts map[string]string
}

// New returns a job that is not yet allocated.
func New(opt Options) *Job {
	opt.complete()
	return &Job{opt: opt}
}

// ID returns the ID of the job, "" before allocation.
func (j *Job) ID() string { return j.id }

// Nodes returns the nodes of the job, ordered by number.
func (j *Job) Nodes() []Node { return j.nodes }

// Attached reports whether the job existed before; it is then left running.
func (j *Job) Attached() bool { return j.opt.JobID != "" }

// Allocate gets the nodes: those of the allocation in which the program runs, else those of a new job, after
// waiting in the queue. If it fails, it leaves no job behind.
func (j *Job) Allocate(ctx context.Context) error {
	if j.Attached() {
		j.id = j.opt.JobID
		return j.attach(ctx)
	}
	if err := j.submit(ctx); err != nil {
		return err
	}
	j.ours = true
	err := j.await(ctx)
	if err == nil {
		return nil
	}
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseWait)
	defer cancel()
	return errors.Join(err, j.Release(release))
}

// releaseWait is the longest time spent cancelling a job that did not start.
const releaseWait = 5 * time.Second

func (j *Job) attach(ctx context.Context) error {
	s, err := j.look(ctx)
	if err != nil {
		return err
	}
	if err := j.lost(s); err != nil {
		return err
	}
	if err := j.findNodes(ctx, s.nodes); err != nil {
		return err
	}
	if len(j.nodes) < j.opt.Spec.Nodes {
		return evictedf(steps.EvictionAllocationRefused,
			"the slurm block asks for %d nodes, and the allocation that this runs in (job %s) has %d; allocate more, or run outside of it",
			j.opt.Spec.Nodes, j.id, len(j.nodes))
	}
	return nil
}

// submit puts the job into the queue. If the request was interrupted, the job may exist anyway; its mark
// identifies it.
func (j *Job) submit(ctx context.Context) error {
	out, err := j.opt.call(ctx, j.sbatch()...)
	if ctx.Err() != nil && err != nil {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseWait)
		defer cancel()
		_, found := Cleanup(clean, j.opt, func(m Mark) bool { return m.RunID == j.opt.RunID })
		return errors.Join(err, found)
	}
	if said, ok := errors.AsType[*commandError](err); ok {
		return evictedf(steps.EvictionAllocationRefused,
			"Slurm refuses the job: %v; change the slurm block, sinfo shows what the cluster has", said)
	}
	if err != nil {
		return err
	}
	id, _, _ := strings.Cut(strings.TrimSpace(out), ";")
	if !jobID.MatchString(id) {
		return fmt.Errorf("sbatch: %q is not the number of a job", strings.TrimSpace(out))
	}
	j.id = id
	return nil
}

var jobID = lazyregexp.New(`^[0-9]+$`)

// sbatch returns the command that creates the job. Its script only holds the nodes.
func (j *Job) sbatch() []string {
	s := j.opt.Spec
	argv := []string{
		"sbatch", "--parsable", "--no-requeue", "--job-name=pipeline", "--comment=" + Mark{j.opt.RunID, j.opt.Owner}.String(),
		"--output=/dev/null", "--error=/dev/null", "--chdir=/", fmt.Sprintf("--nodes=%d", s.Nodes),
	}
	for _, o := range []struct{ name, value string }{{"partition", s.Partition}, {"account", s.Account}, {"constraint", s.Constraint}} {
		if o.value != "" {
			argv = append(argv, "--"+o.name+"="+o.value)
		}
	}
	if s.Time > 0 {
		t := s.Time.Round(time.Second)
		argv = append(argv, fmt.Sprintf("--time=%d:%02d:%02d", int(t.Hours()), int(t.Minutes())%60, int(t.Seconds())%60))
	}
	if s.GPUsPerNode > 0 {
		argv = append(argv, fmt.Sprintf("--gres=gpu:%d", s.GPUsPerNode))
	}
	if !s.Shared {
		argv = append(argv, "--exclusive")
	}
	argv = append(argv, s.ExtraArgs...)
	script := "exec sleep 2147483647"
	if len(j.opt.Unset) > 0 {
		script = "unset " + strings.Join(j.opt.Unset, " ") + "; " + script
	}
	return append(argv, "--wrap="+script)
}

// await waits until the job runs.
func (j *Job) await(ctx context.Context) error {
	began, told := time.Now(), ""
	for {
		s, err := j.look(ctx)
		if err != nil {
			return err
		}
		switch s.name {
		case "RUNNING":
			return j.findNodes(ctx, s.nodes)
		case "PENDING", "CONFIGURING":
		default:
			return j.lost(s)
		}
		if why, never := hopeless[s.reason]; never {
			return evictedf(steps.EvictionJobPending, "Slurm job %s cannot start (%s): %s%s", j.id, s.reason, why, j.drainedBefore(ctx))
		}
		if limit := j.opt.Spec.QueueTimeout; limit > 0 && time.Since(began) >= limit {
			return evictedf(steps.EvictionJobPending, "Slurm job %s did not start within queue_timeout (%s); it waits for %s%s", j.id, limit,
				s.reason, j.drainedBefore(ctx))
		}
		if now := s.name + " " + s.reason; now != told && s.reason != "None" {
			told = now
			j.opt.Tell(fmt.Sprintf("Slurm job %s waits for its nodes (%s)%s", j.id, s.reason, j.drainedBefore(ctx)))
		}
		if err := steps.Sleep(ctx, j.opt.Poll); err != nil {
			return err
		}
	}
}

// findNodes queries the names and addresses of the job's nodes.
func (j *Job) findNodes(ctx context.Context, list string) error {
	out, err := j.opt.call(ctx, "scontrol", "show", "hostnames", list)
	if err != nil {
		return err
	}
	j.nodes = nil
	for name := range strings.FieldsSeq(out) {
		text, err := j.opt.call(ctx, "scontrol", "--oneliner", "show", "node", name)
		if err != nil {
			return err
		}
		n, err := parseNode(text)
		if err != nil {
			return fmt.Errorf("scontrol: node %s: %w", name, err)
		}
		n.Address = resolve(ctx, n.Address)
		j.nodes = append(j.nodes, n)
	}
	if len(j.nodes) == 0 {
		return fmt.Errorf("squeue: job %s has no nodes", j.id)
	}
	return nil
}

var nodeFact = lazyregexp.New(`(?:^|\s)(NodeName|NodeAddr|Arch|CPUTot|RealMemory|Gres|ActiveFeatures|OS)=(\S+)`)

// parseNode parses one line of scontrol show node.
func parseNode(line string) (Node, error) {
	n := Node{Facts: map[string]string{}}
	for _, m := range nodeFact.FindAllStringSubmatch(line, -1) {
		switch key, value := m[1], m[2]; {
		case key == "NodeName":
			n.Name = value
		case key == "NodeAddr":
			n.Address = value
		case value != "(null)":
			n.Facts[strings.ToLower(key)] = value
		}
	}
	if n.Name == "" || n.Address == "" {
		return n, fmt.Errorf("%q has no name or no address", strings.TrimSpace(line))
	}
	return n, nil
}

// resolve converts a node's name into an IP address, because some connectors take no names. It returns names
// that do not resolve unchanged.
func resolve(ctx context.Context, address string) string {
	if net.ParseIP(address) != nil {
		return address
	}
	found, err := net.DefaultResolver.LookupHost(ctx, address)
	if err != nil || len(found) == 0 {
		return address
	}
	return found[0]
}

// Check returns an error if the job was lost, or if too little of its time is left for a launch.
func (j *Job) Check(ctx context.Context) error {
	s, err := j.settled(ctx)
	if err != nil {
		return err
	}
	if err := j.lost(s); err != nil {
		return err
	}
	if s.name == "COMPLETING" {
		return evicted(steps.EvictionJobEnded, "Slurm job "+j.id+" is ending")
	}
	j.tellDrained(ctx)
	if s.limited && s.left < j.opt.Need {
		return evictedf(steps.EvictionTimeLimit,
			"Slurm job %s has %s left, and a launch with its runs takes about %s; raise time in the slurm block", j.id, s.left,
			j.opt.Need.Round(time.Second))
	}
	return nil
}

// Release ends the job, if this run created it, and waits until its nodes are free or ctx ends.
func (j *Job) Release(ctx context.Context) error {
	if !j.ours || j.id == "" {
		return nil
	}
	if _, err := j.opt.call(ctx, "scancel", j.id); err != nil && !alreadyEnded(err) {
		return fmt.Errorf("job %s may still run: %w; cancel it with scancel %s", j.id, err, j.id)
	}
	for {
		s, err := j.look(ctx)
		if err != nil {
			return fmt.Errorf("job %s was cancelled, but whether it has ended is not known: %w", j.id, err)
		}
		switch s.name {
		case "PENDING", "CONFIGURING", "RUNNING", "SUSPENDED", "COMPLETING":
		default:
			j.ours = false
			return nil
		}
		if steps.Sleep(ctx, j.opt.Poll) != nil {
			return fmt.Errorf("job %s was cancelled and is still %s; squeue --job=%s shows what becomes of it", j.id, s.name, j.id)
		}
	}
}

// alreadyEnded reports whether scancel found nothing to end. Slurm may report this for live jobs, too.
func alreadyEnded(err error) bool {
	said, ok := errors.AsType[*commandError](err)
	return ok && says(said.said, "Invalid job id", "already completing or completed")
}

// Launcher returns a launcher for a place in the job.
func (j *Job) Launcher(at Place) *Launcher { return &Launcher{job: j, at: at} }

// Address returns the address of a node's servers.
func (j *Job) Address(node int) (string, error) {
	if node < 0 || node >= len(j.nodes) {
		return "", fmt.Errorf("job %s of Slurm has %d nodes, which count from 0, and no node %d", j.id, len(j.nodes), node)
	}
	return j.nodes[node].Address, nil
}
