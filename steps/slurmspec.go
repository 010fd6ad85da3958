package steps

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

// SlurmSpec is the allocation of a Slurm cluster in which servers run: one job for the
// whole of a run, with one step for each server.
type SlurmSpec struct {
	// Partition, Account and Constraint as sbatch takes them, "" for the cluster's default.
	Partition, Account, Constraint string
	// Time limit of the job, 0 for the partition's default.
	Time time.Duration
	// Nodes of the job. Servers are placed on them by number, from 0.
	Nodes int
	// GPUsPerNode that the job gets on each node.
	GPUsPerNode int
	// Shared says that other jobs may run on the nodes.
	Shared bool
	// ExtraArgs are further arguments of sbatch.
	ExtraArgs []string
	// QueueTimeout bounds the wait for the nodes, 0 for none.
	QueueTimeout time.Duration
	// Runtime starts the images of servers on the nodes: one of the Runtime constants.
	Runtime string
	// SideBySide runs repeats at once, each on nodes of its own.
	SideBySide bool
	// LoadNode is the node, of those that a repeat has, on which the load is generated, with the
	// router before it; nil for the machine that the command runs on.
	LoadNode *int
}

// What starts images on the nodes of a cluster.
const (
	RuntimeNone      = "none"
	RuntimePyxis     = "pyxis"     // srun --container-image, with enroot
	RuntimeApptainer = "apptainer" // apptainer exec
)

// maxNodes bounds a job: more would not be one deployment.
const maxNodes = 1024

// SlurmSchema describes the slurm block.
func SlurmSchema() Schema {
	return Schema{Attrs: []Attr{
		{Name: "partition", Type: cty.String, Doc: "Partition of the cluster; its default unless set."},
		{Name: "account", Type: cty.String, Doc: "Account that the job is charged to; the user's default unless set."},
		{Name: "time", Type: cty.Number, Rule: AboveZero, Unit: UnitDuration,
			Doc: "Time limit of the job; the partition's default unless set. Before each launch the run looks whether enough of it is left."},
		{Name: "nodes", Type: cty.Number, Rule: Whole(1, maxNodes), Default: cty.NumberIntVal(1),
			Doc: "Number of nodes. The argument node of servers places them, counted from 0."},
		{Name: "gpus_per_node", Type: cty.Number, Rule: Whole(0, 1024), Default: cty.NumberIntVal(0),
			Doc: "GPUs that the job gets on each node. Servers get theirs of them by number, no two the same."},
		{Name: "constraint", Type: cty.String, Doc: "Features that the nodes must have, such as \"h100&ib\"."},
		{Name: "exclusive", Type: cty.Bool, Default: cty.True,
			Doc: "Whether the nodes are for this job alone. Other jobs on them disturb what is measured."},
		{Name: "extra_args", Type: cty.List(cty.String), Doc: "Further arguments of sbatch, such as [\"--qos=high\"]."},
		{Name: "queue_timeout", Type: cty.Number, Rule: AboveZero, Unit: UnitDuration,
			Doc: "Longest wait for the nodes; no limit unless set. It is no part of a server's start-up."},
		{Name: "side_by_side", Type: cty.Bool, Default: cty.False, Doc: "Whether repeats run at once, as many as the job has nodes for. The " +
			"nodes must be alike: all servers of a role are on machines with the same GPUs and driver. Every repeat has all its sides on the same " +
			"nodes, so that what differs between nodes does not enter a comparison."},
		{Name: "load_node", Type: cty.Number, Rule: Whole(0, maxNodes-1), Doc: "Node on which the load is generated, counted from 0 as the " +
			"argument node of servers: a step of the job for each run. Routers run there, too. Give it a node without a server, so that the load " +
			"generator takes no processor from one. Unset, both run on the machine that the command runs on. With side_by_side it is one of the " +
			"nodes of each repeat. This program must be on a file system that the nodes share, as files of datasets."},
		{Name: "runtime", Type: cty.String, Enum: enum.Of(RuntimeNone, RuntimePyxis, RuntimeApptainer), Default: cty.StringVal(RuntimeNone),
			Doc: "What starts the images of servers on the nodes: pyxis, apptainer, or none for a cluster without either, whose servers are " +
				"executables."},
	}}
}

// ReadSlurm reads a slurm block and finds what is wrong with it beyond types.
func ReadSlurm(o Object) (*SlurmSpec, []Problem) {
	s := &SlurmSpec{
		Partition: o.Text("partition"), Account: o.Text("account"), Constraint: o.Text("constraint"),
		Time: o.Duration("time"), Nodes: o.Int("nodes"), GPUsPerNode: o.Int("gpus_per_node"),
		QueueTimeout: o.Duration("queue_timeout"), Runtime: o.Text("runtime"),
	}
	if o.Known("exclusive") {
		s.Shared = o.Value("exclusive").False()
	}
	s.SideBySide = o.Known("side_by_side") && o.Value("side_by_side").True()
	s.ExtraArgs, _ = o.Texts("extra_args") // the schema's type lets nothing else through
	found := SlurmSchema().Check(o)
	add := func(name, summary, detail string) {
		found = append(found, Problem{Path: []string{name}, Summary: summary, Detail: detail})
	}
	if _, ok := o.number("load_node"); ok {
		node := o.Int("load_node")
		s.LoadNode = &node
		if o.Has("nodes") == o.Known("nodes") && len(found) == 0 && node >= max(s.Nodes, 1) {
			add("load_node", fmt.Sprintf("load_node = %d is beyond the nodes of the job", node),
				fmt.Sprintf("They are counted from 0: with nodes = %d the last is %d.", max(s.Nodes, 1), max(s.Nodes, 1)-1))
		}
	}
	for _, a := range s.ExtraArgs {
		if problem := extraArg(a); problem != "" {
			add("extra_args", problem, "Each element is one option of sbatch with its value, such as \"--qos=high\".")
		}
	}
	return s, found
}

// ownArgs are the options of sbatch that the launcher sets itself: another value would
// break how it finds and ends its job.
var ownArgs = []string{"--wrap", "--parsable", "--wait", "--array", "--job-name", "--comment", "--nodes", "--requeue", "--test-only",
	"--clusters", "--hold", "--chdir", "--output", "--error"}

// extraArg says what is wrong with one of the further arguments, "" for nothing.
func extraArg(a string) string {
	name, _, _ := strings.Cut(a, "=")
	switch {
	case !strings.HasPrefix(a, "--") || len(name) < 3 || strings.ContainsAny(name, " \t\n"):
		return fmt.Sprintf("%q is not an option of sbatch with two dashes", a)
	case strings.ContainsAny(a, "\n\x00"):
		return fmt.Sprintf("%q has a line break", a)
	case slices.Contains(ownArgs, name):
		return fmt.Sprintf("%s is set by this program", name)
	}
	return ""
}
