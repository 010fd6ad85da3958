// Package github posts a result on a pull request: one comment that is kept up to date, a check run
// with annotations on the lines of the failed gates, and a commit status for jobs that cannot write
// check runs.
//
//	event, err := github.ReadEvent(os.Getenv)
//	api, err := github.NewClient(github.Options{URL: url, Token: token, Repo: event.Repo})
//	p := github.Publisher{API: api, Event: event, Settings: github.Settings{Comment: publish.CommentUpdate, Check: "pipeline"}}
//	warnings := p.Start(ctx)
//	…
//	posted := p.Finish(ctx, doc)
//
// The three parts are independent. If GitHub refuses or loses one, the caller gets a warning with
// advice, never an error. Only the verdict decides how a run ends.
//
// Input that anybody can influence is not trusted. A comment is ours only if its first line and its
// author match. The pull request comes from the event and the API. Everything that is shown is
// rendered here from the result document.
//
// Jobs of one workflow run that report on the same file, such as the legs of a matrix, share the
// comment. Each has a section of it, and none loses another's.
//
// [Tracker] keeps one issue for the series of a history that regressed in one night. It identifies
// its issues in the same way, and comments when there is news, not every night.
//
// [Responder] executes commands in comments, for people who can push.
//
// This package does not write the step summary and the outputs of a job. These are files, written
// by package reports and the command line.
package github
