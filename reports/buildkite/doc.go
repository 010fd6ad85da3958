// Package buildkite publishes a verdict in a job of Buildkite: an annotation of the build, written by the agent's own
// program (buildkite-agent annotate), which has the job's token. The legs of a matrix share one annotation: each keeps
// its section in the build's meta-data, and whoever writes the annotation last has read the sections of all.
//
// The annotation belongs to the build, so no comment of an earlier build has to be found. Faults of the agent are
// warnings, and only the verdict decides how a run ends.
//
// A build of a pull request from a fork runs on the agents of the pipeline, which live on after it: its code is refused.
package buildkite
