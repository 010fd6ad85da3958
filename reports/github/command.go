package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/publish/note"
	"github.com/servegate/pipeline/reports/publish/remote"
)

// Command is a command in a comment.
type Command struct {
	Name   string // "run" or "accept"
	Commit string // as written; "" for the head
	Reason string // for an acceptance
}

var (
	runCommand    = lazyregexp.New(`^/pipeline run(?: ([0-9a-f]{7,64}))?$`)
	acceptCommand = lazyregexp.New(`^/pipeline accept(?: ([0-9a-f]{7,64}))?(?: (\S.{0,499}))?$`)
)

// ParseCommand parses a comment that consists of a command only. It rejects comments that quote a
// command or continue after it.
func ParseCommand(body string) (Command, bool) {
	line := strings.TrimRight(body, " \t\r\n")
	if m := runCommand.FindStringSubmatch(line); m != nil {
		return Command{Name: "run", Commit: m[1]}, true
	}
	if m := acceptCommand.FindStringSubmatch(line); m != nil {
		return Command{Name: "accept", Commit: m[1], Reason: m[2]}, true
	}
	return Command{}, false
}

// Responder executes the commands in comments of pull requests. Its job has rights, so it runs
// nothing of the pull request. It asks GitHub to re-run what has run before, with the rights of
// that run, and marks a verdict as accepted.
type Responder struct {
	API   *Client
	Event Event
	// Workflow is the file name of the workflow that measures pull requests.
	Workflow string
	Mask     Mask
}

// Respond executes the command of the event's comment. It returns an error if GitHub failed to
// execute a request.
func (r *Responder) Respond(ctx context.Context) (Response, error) {
	ctx = remote.WithBudget(ctx, commentBudget)
	c := r.Event.Comment
	switch {
	case r.Event.Name != "issue_comment" || c == nil:
		return Response{}, fmt.Errorf("respond must run in a workflow triggered by issue_comment, and the event is %q", r.Event.Name)
	case c.Action != "created":
		return Response{Refused: "only a new comment is a command: this one was " + c.Action}, nil
	case r.Event.Number == 0:
		return Response{Refused: "the comment is not on a pull request"}, nil
	}
	command, ok := ParseCommand(c.Body)
	if !ok {
		return Response{Refused: "the comment must be one of `/pipeline run`, `/pipeline run COMMIT`, `/pipeline accept REASON` or `/pipeline " +
			"accept COMMIT REASON`, and nothing else"}, nil
	}
	may, err := r.API.MayWrite(ctx, c.Author)
	if err != nil {
		return Response{}, err
	}
	if !may {
		_ = r.API.React(ctx, c.ID, "-1") // optional
		return Response{Refused: c.Author + " cannot write to the repository"}, nil
	}
	pr, err := r.API.PullRequest(ctx, r.Event.Number)
	if err != nil {
		return Response{}, err
	}
	done, err := r.carryOut(ctx, command, pr)
	if refusal, ok := errors.AsType[*refusalError](err); ok {
		_ = r.API.React(ctx, c.ID, "confused") // optional
		return Response{Refused: refusal.reason}, nil
	}
	if err == nil {
		_ = r.API.React(ctx, c.ID, "+1") // optional
	}
	return Response{Done: done}, err
}

// refusalError is a command that is not executed, which is not a failure.
type refusalError struct{ reason string }

func (e *refusalError) Error() string { return e.reason }

func (r *Responder) carryOut(ctx context.Context, c Command, pr PullRequest) (string, error) {
	fork := pr.HeadRepo != r.Event.Repo
	switch {
	case !pr.Open:
		return "", &refusalError{"the pull request is closed"}
	case c.Commit != "" && !strings.HasPrefix(pr.HeadSHA, c.Commit):
		return "", &refusalError{fmt.Sprintf("the head of the pull request is %s by now, not %s", note.Short(pr.HeadSHA), c.Commit)}
	case c.Name == "run" && fork && c.Commit == "":
		return "", &refusalError{fmt.Sprintf(
			"the pull request comes from a fork, whose head can change after a review: write /pipeline run %s if that is the commit you mean",
			note.Short(pr.HeadSHA))}
	case c.Name == "run":
		return r.runAgain(ctx, pr)
	case c.Reason == "":
		return "", &refusalError{"an acceptance needs a reason: /pipeline accept REASON"}
	case fork && c.Commit == "":
		return "", &refusalError{fmt.Sprintf("the pull request comes from a fork, whose head can change after a review: write /pipeline accept "+
			"%s REASON if that is the commit you mean", note.Short(pr.HeadSHA))}
	}
	return r.accept(ctx, pr, c.Reason)
}

// runAgain asks GitHub to re-run the measuring workflow of the head, with the same rights.
func (r *Responder) runAgain(ctx context.Context, pr PullRequest) (string, error) {
	runs, err := r.API.WorkflowRuns(ctx, r.Workflow, pr.HeadSHA)
	if err != nil {
		return "", err
	}
	runs = slices.DeleteFunc(runs, func(w WorkflowRun) bool { return w.Event != "pull_request" || w.SHA != pr.HeadSHA })
	if len(runs) == 0 {
		return "", &refusalError{fmt.Sprintf("%s has not run for %s: push a commit, or check its conditions", r.Workflow, note.Short(pr.HeadSHA))}
	}
	last := slices.MaxFunc(runs, func(a, b WorkflowRun) int { return a.Run.Compare(b.Run) })
	switch {
	case last.Conclusion == "action_required":
		return "", &refusalError{"the run waits for an approval, which is given on its page"}
	case last.Status != "completed":
		return "", &refusalError{"the run is still going on"}
	}
	if err := r.API.RunAgain(ctx, last.Run.ID); err != nil {
		return "", err
	}
	return fmt.Sprintf("run %d of %s goes again as attempt %d", last.Run.ID, note.Short(pr.HeadSHA), last.Run.Attempt+1), nil
}

// externalID matches that of our check runs: run, attempt, and a suffix if there are several.
var externalID = lazyregexp.New(`^([0-9]{1,18})\.([0-9]{1,9})(\.[0-9a-f]{16})?$`)

// measured reports whether one of some runs wrote a check run. External IDs of other workflows can
// have the same form, and check runs of other tools in the same run have another page.
func measured(k Check, runs []WorkflowRun) bool {
	m := externalID.FindStringSubmatch(k.ExternalID)
	return m != nil && strings.HasSuffix(k.DetailsURL, "/actions/runs/"+m[1]) &&
		slices.ContainsFunc(runs, func(w WorkflowRun) bool { return strconv.FormatInt(w.Run.ID, 10) == m[1] && w.SHA == k.SHA })
}

// acceptedBy begins the title of an accepted check run.
const acceptedBy = "Accepted by "

// accept marks the failed check runs that the measuring workflow wrote on the head, and the
// statuses of the same runs, as accepted. They keep the measured result. A new commit is judged
// again. Of several check runs with one name, GitHub shows the newest, so an older one cannot be
// accepted. A result that the author of the comment cannot have seen is not accepted: the job of
// the command may wait for hours while another commit is measured. If a part fails, the command can
// be repeated for the rest.
func (r *Responder) accept(ctx context.Context, pr PullRequest, reason string) (string, error) {
	measuring, err := r.API.WorkflowRuns(ctx, r.Workflow, pr.HeadSHA)
	if err != nil {
		return "", err
	}
	all, err := r.API.Checks(ctx, pr.HeadSHA, "")
	if err != nil {
		return "", err
	}
	newest := map[string]int64{}
	for _, k := range all {
		if measured(k, measuring) {
			newest[k.Name] = max(newest[k.Name], k.ID)
		}
	}
	byWhom, commit := acceptedBy+r.Event.Comment.Author, note.Short(pr.HeadSHA)
	runs := map[string]int64{} // by the page of the attempt
	n, left := 0, ""
	for _, k := range all {
		accepted := k.Conclusion == Success && strings.HasPrefix(k.Title, acceptedBy)
		switch {
		case k.ID != newest[k.Name]:
			continue
		case k.Conclusion == "":
			left = fmt.Sprintf("a run of %s is still going on: read its result, and write the command again", commit)
			continue
		case k.Conclusion != Failure && !accepted:
			continue
		case k.Title == unmeasured:
			left = fmt.Sprintf("the run of %s ended without a measurement: there is nothing to accept", commit)
			continue
		case !accepted && k.Completed.After(r.Event.Comment.Created):
			left = fmt.Sprintf("the result of %s is newer than the comment: read it, and write the command again", commit)
			continue
		}
		parts := externalID.FindStringSubmatch(k.ExternalID)
		runs[k.DetailsURL+"/attempts/"+parts[2]], _ = strconv.ParseInt(parts[1], 10, 64) // at most 18 digits
		if accepted {
			continue
		}
		k.Annotations = nil
		k.Conclusion = Success
		k.Summary = r.Mask.of("**"+escape.Inline(byWhom, 100)+":** "+escape.Inline(reason, 500)) + "\n\n" + k.Summary
		k.Title = r.Mask.of(escape.Text(byWhom+": "+reason+". It was: "+k.Title, maxTitle))
		if len(k.Summary) > maxSummary {
			k.Summary = k.Summary[:strings.LastIndexByte(k.Summary[:maxSummary], '\n')+1]
		}
		if _, err := r.API.UpdateCheck(ctx, k); err != nil {
			return "", err
		}
		n++
	}
	marked, err := r.acceptStatuses(ctx, pr, runs, byWhom+": "+reason)
	if n += marked; n == 0 && err == nil {
		return "", &refusalError{cmp.Or(left,
			fmt.Sprintf("%s has no failed check run of the workflow %s: there is nothing to accept", commit, r.Workflow))}
	}
	err = errors.Join(err, r.noteAccepted(ctx, pr, runs, byWhom, reason))
	done := fmt.Sprintf("%s: %s, for %s", byWhom, reason, commit)
	if left != "" {
		done += ", but " + left
	}
	return done, err
}

// acceptStatuses marks the failed statuses of some runs as accepted, and returns their number.
func (r *Responder) acceptStatuses(ctx context.Context, pr PullRequest, runs map[string]int64, text string) (n int, err error) {
	if len(runs) == 0 {
		return 0, nil
	}
	statuses, err := r.API.Statuses(ctx, pr.HeadSHA)
	for _, s := range statuses {
		if _, ours := runs[s.URL]; !ours || s.State != "failure" {
			continue
		}
		s.State, s.Description = "success", r.Mask.of(escape.Text(text, maxDescription))
		err = errors.Join(err, r.API.CreateStatus(ctx, pr.HeadSHA, s))
		n++
	}
	return n, err
}

// noteAccepted adds the acceptance to the comments on the head that some runs wrote.
func (r *Responder) noteAccepted(ctx context.Context, pr PullRequest, runs map[string]int64, byWhom, reason string) error {
	list, err := r.API.Comments(ctx, pr.Number)
	if err != nil {
		return err
	}
	viewer, _ := r.API.Viewer(ctx) // with "", any bot's comment may be ours
	line := r.Mask.of("> ✅ **" + escape.Inline(byWhom, 100) + "** for " + escape.Code(note.Short(pr.HeadSHA), 0) + ": " +
		escape.Inline(reason, 500) + "\n")
	ids := slices.Collect(maps.Values(runs))
	for _, c := range list {
		m, ok := note.ParseMarker(c.Body)
		// Of any attempt: jobs of several attempts share a comment.
		ours := ok && m.SHA == pr.HeadSHA && slices.Contains(ids, m.Run.ID)
		if !ours || !wroteAs(viewer, c.Author, c.Bot) || strings.Contains(c.Body, line) {
			continue
		}
		at := strings.Index(c.Body, "\n### ")
		if at < 0 {
			continue
		}
		end := at + 1 + strings.IndexByte(c.Body[at+1:]+"\n", '\n') + 1
		if end > len(c.Body) || len(c.Body)+len(line) > bodyBudget+2000 {
			continue
		}
		if _, edited := r.API.EditComment(ctx, c.ID, c.Body[:end]+line+"\n"+c.Body[end:]); edited != nil {
			err = errors.Join(err, edited)
		}
	}
	return err
}
