package steps

import "time"

// SlurmSpec is the allocation of a Slurm cluster in which servers run: one job for the
// whole of a run, with one step for each server.
type SlurmSpec struct {
	// Partition, Account and Constraint as sbatch takes them; "" selects the cluster's default.
	Partition, Account, Constraint string
	// Time limit of the job, 0 for the partition's default.
	Time time.Duration
	// Nodes of the job. Servers are placed on them by number, from 0.
	Nodes int
	// GPUsPerNode that the job gets on each node.
	GPUsPerNode int
	// Shared allows other jobs on the nodes.
	Shared bool
	// ExtraArgs are further arguments of sbatch.
	ExtraArgs []string
	// QueueTimeout bounds the wait for the nodes, 0 for none.
	QueueTimeout time.Duration
	// Runtime starts the images of servers on the nodes: one of the Runtime constants.
	Runtime string
	// SideBySide runs repeats at the same time, each on separate nodes.
	SideBySide bool
	// LoadNode is the index, among the nodes of a repeat, of the node that runs the load generator and the
	// router; nil for the machine that runs the command.
	LoadNode *int
}

// Runtimes that start images on the nodes of a cluster.
const (
	RuntimeNone      = "none"
	RuntimePyxis     = "pyxis"     // srun --container-image, with enroot
	RuntimeApptainer = "apptainer" // apptainer exec
)
