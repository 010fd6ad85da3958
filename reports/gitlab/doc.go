// Package gitlab publishes a verdict in a job of GitLab CI: one note on the merge request that is kept up to date, with
// a section for each job of the pipeline that reports on the same file. The other parts are files that GitLab reads as
// artifacts: JUnit, and a metrics report (the formats junit and openmetrics).
//
// The token of a job (CI_JOB_TOKEN) cannot write notes. PIPELINE_GITLAB_TOKEN is a project access token with the scope
// api; without it nothing is posted, and the run warns of it. Faults of GitLab are warnings, and only the verdict
// decides how a run ends.
//
// Input that anybody can influence is not trusted. A note is ours only if its first line and its author match. A merge
// request from a fork that runs in the parent project has the parent's variables: its code is refused. A pipeline in the
// fork's own project has no token of the parent, and posts nothing.
package gitlab
