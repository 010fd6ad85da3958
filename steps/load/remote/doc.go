// Package remote runs the load generator in a separate process, such as a step on another node of a cluster. It
// sends and records the same as [load.Run].
//
//	g := remote.Generator{Spawner: job.Tasks("load", place), Argv: []string{self, "load-worker"}, Folder: dir.Folder}
//	got, err := g.Run(ctx, "r1-cell", options, log)
//
// The process gets its order, its begin and its end in one of two ways. With [Streams] all pass over its standard
// input and output: the order, headers and the dataset, then names of signals; and the result behind the last
// message. Otherwise the order and the result are files in a folder that both sides share, and the signals are
// those of the system. Headers may hold credentials, so they are then passed in the environment, not in a file or
// argument; the process reads dataset files itself, and the folder is removed after the run.
//
// In both ways the process draws from the seeds. On its standard output it writes a line of JSON per message, most
// of them progress. Between the warm-up and the first measured request it waits for SIGUSR1. On SIGTERM it ends
// with the results so far.
//
// A process that does not start, or ends without a result, causes a [load.LostError]. If its node or job was
// lost, it causes the [steps.EvictionError] that its spawner reports.
package remote
