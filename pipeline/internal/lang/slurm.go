package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

// slurmSchema describes the slurm block.
func slurmSchema() steps.Schema {
	return steps.Schema{Attrs: []steps.Attr{
		{Name: "partition", Type: cty.String, Doc: "Partition of the cluster; its default unless set."},
		{Name: "account", Type: cty.String, Doc: "Account that the job is charged to; the user's default unless set."},
		{Name: "time", Type: cty.Number, Rule: steps.AboveZero, Unit: steps.UnitDuration,
			Doc: "Time limit of the job; the partition's default unless set. Before each launch the run looks whether enough of it is left."},
		{Name: "nodes", Type: cty.Number, Rule: steps.Whole(1, steps.MaxNodes), Default: cty.NumberIntVal(1),
			Doc: "Number of nodes. The argument node of servers places them, counted from 0."},
		{Name: "gpus_per_node", Type: cty.Number, Rule: steps.Whole(0, 1024), Default: cty.NumberIntVal(0),
			Doc: "GPUs that the job gets on each node. Servers get theirs of them by number, no two the same."},
		{Name: "constraint", Type: cty.String, Doc: "Features that the nodes must have, such as \"h100&ib\"."},
		{Name: "exclusive", Type: cty.Bool, Default: cty.True,
			Doc: "Whether the nodes are for this job alone. Other jobs on them disturb what is measured."},
		{Name: "extra_args", Type: cty.List(cty.String), Doc: "Further arguments of sbatch, such as [\"--qos=high\"]."},
		{Name: "queue_timeout", Type: cty.Number, Rule: steps.AboveZero, Unit: steps.UnitDuration,
			Doc: "Longest wait for the nodes; no limit unless set. It does not count as a server's start-up."},
		{Name: "side_by_side", Type: cty.Bool, Default: cty.False, Doc: "Whether repeats run at once, as many as the job has nodes for. The " +
			"nodes must be alike: all servers of a role are on machines with the same GPUs and driver. Every repeat has all its sides on the same " +
			"nodes, so that what differs between nodes does not enter a comparison."},
		{Name: "load_node", Type: cty.Number, Rule: steps.Whole(0, steps.MaxNodes-1),
			Doc: "Node on which the load is generated, counted from 0 as the " +
				"argument node of servers: a step of the job for each run. Routers run there, too. Give it a node without a server, so that the load " +
				"generator takes no processor from one. Unset, both run on the machine that the command runs on. With side_by_side it is one of the " +
				"nodes of each repeat. This program must be on a file system that the nodes share, as files of datasets."},
		{Name: "runtime", Type: cty.String, Enum: enum.Of(steps.RuntimeNone, steps.RuntimePyxis, steps.RuntimeApptainer),
			Default: cty.StringVal(steps.RuntimeNone),
			Doc: "What starts the images of servers on the nodes: pyxis, apptainer, or none for a cluster without either, whose servers are " +
				"executables."},
	}}
}

// readSlurm reads a slurm block and checks it beyond types.
func readSlurm(o steps.Object) (*steps.SlurmSpec, []steps.Problem) {
	s := &steps.SlurmSpec{
		Partition: o.Text("partition"), Account: o.Text("account"), Constraint: o.Text("constraint"),
		Time: o.Duration("time"), Nodes: o.Int("nodes"), GPUsPerNode: o.Int("gpus_per_node"),
		QueueTimeout: o.Duration("queue_timeout"), Runtime: o.Text("runtime"),
	}
	if o.Known("exclusive") {
		s.Shared = o.Value("exclusive").False()
	}
	s.SideBySide = o.Known("side_by_side") && o.Value("side_by_side").True()
	s.ExtraArgs, _ = o.Texts("extra_args") // the schema's type excludes anything else
	found := slurmSchema().Check(o)
	add := func(name, summary, detail string) {
		found = append(found, steps.Problem{Path: []string{name}, Summary: summary, Detail: detail})
	}
	if o.Known("load_node") {
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

// ownArgs lists the options of sbatch that the launcher sets itself. Another value would break how it finds and
// ends its job.
var ownArgs = []string{"--wrap", "--parsable", "--wait", "--array", "--job-name", "--comment", "--nodes", "--requeue", "--test-only",
	"--clusters", "--hold", "--chdir", "--output", "--error"}

// extraArg returns the problem of one of the further arguments, "" if it has none.
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
