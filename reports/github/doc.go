// Package github posts a result on a pull request: one comment that is kept up to date, a
// check run with annotations on the lines of the gates that failed, and a commit status
// for those who cannot have check runs.
//
//	event, err := github.ReadEvent(os.Getenv)
//	api, err := github.NewClient(github.Options{URL: url, Token: token, Repo: event.Repo})
//	p := github.Publisher{API: api, Event: event, Settings: github.Settings{Comment: publish.CommentUpdate, Check: "pipeline"}}
//	warnings := p.Start(ctx)
//	…
//	posted := p.Finish(ctx, doc)
//
// Each of the three is done on its own and as well as it can be: what GitHub refuses or
// loses becomes a warning that says what to do, never an error. The verdict alone decides
// how a run ends.
//
// What anybody can influence is not trusted: a comment is ours only if its first line
// and its author say so, the pull request comes from the event and the API, and
// everything that is shown is rendered here from the result document.
//
// The jobs of one run of a workflow that report on the same file, such as the legs of a
// matrix, share the comment: each keeps a section of it, and none loses another's.
//
// [Tracker] keeps one issue for the series of a history that regressed in one night. It knows
// its issues by the same two signs, and says something when there is news and not every night.
//
// [Responder] carries out commands in comments, for those who can push.
//
// It does not write the step summary and the outputs of a job, which are files (package
// reports and the command line do).
package github
