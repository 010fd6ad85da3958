// Package slurm runs servers as steps of one job of a Slurm cluster.
//
//	job := slurm.New(slurm.Options{Spec: spec, Spawner: spawner, RunID: id})
//	err := job.Allocate(ctx) // sbatch, and the wait in the queue
//	l := job.Launcher(slurm.Place{Node: 0, GPUs: []int{0, 1}})
//	server, err := l.Start(ctx, p, logFile) // srun --overlap on the first node
//	...
//	err = server.Stop(ctx) // scancel the step, and wait until it has ended
//	sp := job.Spawner(0) // short programs as steps, to inspect a node
//	sp = job.Tasks("load", place) // long programs that receive signals
//	err = job.Release(ctx)
//
// It works from a login node and inside an allocation. In an allocation it uses that job and leaves it running.
// It asks squeue and scontrol for states, because srun's exit status does not distinguish a server that ended
// from one that was cancelled or lost with its node. A lost job or node, and a job that does not start, are
// [steps.EvictionError]s.
//
// The nodes and this machine must share a file system for programs and for the servers' files. The package
// knows no engine and does not restart servers.
package slurm
