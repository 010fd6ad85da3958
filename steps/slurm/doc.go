// Package slurm runs servers as steps of one job of a Slurm cluster.
//
//	job := slurm.New(slurm.Options{Spec: spec, Spawner: spawner, RunID: id})
//	err := job.Allocate(ctx) // sbatch, and the wait in the queue
//	l := job.Launcher(slurm.Place{Node: 0, GPUs: []int{0, 1}})
//	server, err := l.Start(ctx, p, logFile) // srun --overlap on the first node
//	…
//	err = server.Stop(ctx) // scancel of the step, and the wait until it is gone
//	sp := job.Spawner(0) // short programs as steps, to look at a node
//	sp = job.Tasks("load", place) // programs that take their time, and signals
//	err = job.Release(ctx)
//
// It works from a login node and inside an allocation, whose job is then used and left as
// it is. What Slurm says is asked of squeue and scontrol: the exit status of srun does not
// distinguish a server that ended from one that was cancelled or lost with its node. That the job
// or a node was lost, and that the job does not start, are [steps.EvictionError]s.
//
// It needs a file system that the nodes share with this machine for programs and for the
// files that servers are given. It knows no engine, and does not restart what ends.
package slurm
