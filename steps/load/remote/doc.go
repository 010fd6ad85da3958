// Package remote carries out runs of the load generator in a process of its own, such as a
// step on another node of a cluster. What is sent and what is recorded is that of [load.Run].
//
//	g := remote.Generator{Spawner: job.Tasks("load", place), Argv: []string{self, "load-worker"}, Folder: dir.Folder}
//	got, err := g.Run(ctx, "r1-cell", options, log)
//
// The process gets its order by a file in a folder that both sides share. Headers may
// hold credentials, so they go by its environment and are in no file and no argument. What
// is drawn from seeds is drawn there anew, and files of datasets are read there. Its standard
// output is a line of JSON for each moment of the run, of which progress is most; it waits
// between the warm-up and the first measured request until SIGUSR1 lets it begin, ends on
// SIGTERM with what it has, and writes the records into the folder. The folder is removed
// with the run.
//
// A process that does not come up, or goes away without a result, is a [load.LostError]; if
// it has lost its place, the [steps.EvictionError] that its spawner reports.
package remote
