// Package remote runs the load generator in a separate process, such as a step on another node of a cluster. It
// sends and records the same as [load.Run].
//
//	g := remote.Generator{Spawner: job.Tasks("load", place), Argv: []string{self, "load-worker"}, Folder: dir.Folder}
//	got, err := g.Run(ctx, "r1-cell", options, log)
//
// The process reads its order from a file in a folder that both sides share. Headers may hold credentials, so
// they are passed in its environment, not in a file or argument. The process draws from the seeds and reads
// dataset files itself. On its standard output it writes a line of JSON per message, most of them progress.
// Between the warm-up and the first measured request it waits for SIGUSR1. On SIGTERM it ends with the results
// so far. It writes the records into the folder, which is removed after the run.
//
// A process that does not start, or ends without a result, causes a [load.LostError]. If its node or job was
// lost, it causes the [steps.EvictionError] that its spawner reports.
package remote
