package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
)

// Settings say what is posted.
type Settings struct {
	// Comment is the mode of the comment; "" and Never write none.
	Comment Mode
	// Key tells several reports on one pull request apart.
	Key string
	// Check is the name of the check run, Status that of the commit status; "" for none.
	Check  string
	Status string
	// Report chooses what is shown.
	Report reports.Options
	// Untrusted marks a result that code of a stranger has made.
	Untrusted bool
	// Changed is what the pull request does to the gates that judge it.
	Changed []GateChange
}

// GateChange is a setting of a gate before and after a change; without values the setting
// is what became of the whole gate, "new" or "removed".
type GateChange struct{ Gate, Setting, Old, New string }

// Nothing reports whether nothing is to be posted.
func (s Settings) Nothing() bool {
	return (s.Comment == "" || s.Comment == Never) && s.Check == "" && s.Status == ""
}

// Publisher tells a pull request of one run. Its methods return warnings, one line each.
type Publisher struct {
	API      API
	Event    Event
	Settings Settings
	// Mask hides secrets in what is posted; nil hides nothing.
	Mask func(string) string

	check Check
	// off are the parts that failed at the start: one warning is enough.
	off map[string]bool
}

// Posted is what was written.
type Posted struct {
	CommentURL string
	CheckURL   string
	// Notes say why there was nobody to tell; Warnings what went wrong.
	Notes    []string
	Warnings []string
}

// parts that are posted, with the permission that each needs.
const (
	partCheck   = "check run"
	partStatus  = "commit status"
	partComment = "comment"
)

var permissions = map[string]string{partCheck: "checks", partStatus: "statuses", partComment: "pull-requests"}

// failed records that a part is not possible.
func (p *Publisher) failed(part string, err error) []string {
	if p.off == nil {
		p.off = map[string]bool{}
	}
	if err == nil || p.off[part] {
		return nil
	}
	p.off[part] = true
	return []string{p.mask(warning("the "+part+" was not written", err, permissions[part]))}
}

func (p *Publisher) mask(text string) string {
	if p.Mask == nil {
		return text
	}
	return p.Mask(text)
}

// newCheck is the check run of this run of the workflow.
func (p *Publisher) newCheck() Check {
	return Check{
		Name: p.Settings.Check, SHA: p.Event.SHA, DetailsURL: p.Event.RunURL(),
		ExternalID: fmt.Sprintf("%d.%d", p.Event.Run.ID, p.Event.Run.Attempt),
	}
}

// Start says that the run has begun: check run and commit status wait for it.
func (p *Publisher) Start(ctx context.Context) []string {
	var warnings []string
	if p.Settings.Check != "" {
		made, err := begin(ctx, p.API, p.newCheck())
		warnings = append(warnings, p.failed(partCheck, err)...)
		p.check = made
	}
	if p.Settings.Status != "" {
		err := p.API.CreateStatus(ctx, p.Event.SHA, Status{State: "pending", Context: p.Settings.Status, Description: "Measuring", URL: p.Event.RunURL()})
		warnings = append(warnings, p.failed(partStatus, err)...)
	}
	return warnings
}

// Finish posts the result.
func (p *Publisher) Finish(ctx context.Context, doc *result.Document) Posted {
	var posted Posted
	warn := func(part string, err error) { posted.Warnings = append(posted.Warnings, p.failed(part, err)...) }
	if p.Settings.Check != "" && !p.off[partCheck] {
		made, err := p.finishCheck(ctx, doc)
		posted.CheckURL = webLink(made.URL, p.Event.ServerURL)
		warn(partCheck, err)
	}
	if p.Settings.Status != "" && !p.off[partStatus] {
		s := status(p.Settings.Status, p.Event.RunURL(), doc, p.Settings.Report)
		s.Description = p.mask(s.Description)
		warn(partStatus, p.API.CreateStatus(ctx, p.Event.SHA, s))
	}
	// An interrupted run has seconds left, and no verdict to comment on.
	if m := p.Settings.Comment; m != "" && m != Never && doc.Status != result.StatusInterrupted {
		url, err := p.comment(ctx, doc, posted.CheckURL)
		posted.CommentURL = webLink(url, p.Event.ServerURL)
		switch untidy, ok := errors.AsType[*untidyError](err); {
		case errors.Is(err, errSuperseded), errors.Is(err, errNoPullRequest), errors.Is(err, errSeveral):
			posted.Notes = append(posted.Notes, "no comment: "+err.Error())
		case ok:
			posted.Warnings = append(posted.Warnings, p.mask(warning("earlier comments are left as they are", untidy.err, permissions[partComment])))
		default:
			warn(partComment, err)
		}
	}
	return posted
}

func (p *Publisher) finishCheck(ctx context.Context, doc *result.Document) (Check, error) {
	k := p.newCheck()
	k.ID = p.check.ID
	k, err := completed(k, doc, p.Settings.Report)
	if err != nil {
		return k, err
	}
	k.Title, k.Summary = p.mask(k.Title), p.mask(k.Summary)
	for i := range k.Annotations {
		a := &k.Annotations[i]
		a.Path, a.Title, a.Message = p.mask(a.Path), p.mask(a.Title), p.mask(a.Message)
	}
	return finish(ctx, p.API, k)
}

// Cancel says that the run was interrupted. It makes one attempt with what it knows.
func (p *Publisher) Cancel(ctx context.Context) []string {
	return p.end(ctx, Cancelled, "Cancelled", "The run was ended before it had a verdict.")
}

// Fail says that the run ended without a result.
func (p *Publisher) Fail(ctx context.Context, reason string) []string {
	return p.end(ctx, Failure, "Infrastructure or configuration: no verdict", p.mask(escape.Inline(reason, maxMessage)))
}

// end completes what Start began.
func (p *Publisher) end(ctx context.Context, conclusion, title, summary string) []string {
	var warnings []string
	if p.check.ID != 0 {
		k := p.newCheck()
		k.ID, k.Conclusion, k.Title, k.Summary = p.check.ID, conclusion, title, summary
		_, err := p.API.UpdateCheck(ctx, k)
		warnings = append(warnings, p.failed(partCheck, err)...)
	}
	if p.Settings.Status != "" && !p.off[partStatus] {
		err := p.API.CreateStatus(ctx, p.Event.SHA, Status{State: "error", Context: p.Settings.Status, Description: title, URL: p.Event.RunURL()})
		warnings = append(warnings, p.failed(partStatus, err)...)
	}
	return warnings
}

// Abandon completes the check run of a program that was killed before it could.
func (p *Publisher) Abandon(ctx context.Context) []string {
	if p.Settings.Check == "" {
		return nil
	}
	k, ok := findCheck(ctx, p.API, p.newCheck())
	if !ok || k.Conclusion != "" {
		return nil
	}
	p.check = k
	return p.Cancel(ctx)
}

// webLink is an address of the API's answer if it is one of the server, else "".
func webLink(url, server string) string {
	if !strings.HasPrefix(url, server+"/") || strings.ContainsAny(url, " ()<>\"'`\\\r\n") {
		return ""
	}
	return url
}

// comment writes the comment and returns its address.
func (p *Publisher) comment(ctx context.Context, doc *result.Document, checkURL string) (string, error) {
	pr, err := p.pullRequest(ctx)
	if err != nil {
		return "", err
	}
	around := surroundings{event: p.Event, head: pr.HeadSHA, untrusted: p.Settings.Untrusted, checkURL: checkURL, changed: p.Settings.Changed}
	// The banner is worth a request, and its lack no failure.
	if files, err := p.API.Files(ctx, pr.Number); err == nil {
		around.judges = judging(files, doc)
	}
	author, err := p.API.Viewer(ctx)
	if err != nil {
		author = actionsBot
	}
	mode := p.Settings.Comment
	c := &commenter{
		api: p.API, number: pr.Number, mode: mode, author: author,
		mark: marker{key: keyOf(p.key(doc)), run: p.Event.Run, sha: p.Event.SHA, single: mode == New},
	}
	c.render = func(budget int) (string, error) {
		text, err := body(c.mark, doc, p.Settings.Report, around, budget)
		return p.mask(text), err
	}
	made, err := c.post(ctx)
	return made.URL, err
}

// key names the report. Without a name of its own it goes by what made it: the file, or
// the workflow where the file is a stranger's word.
func (p *Publisher) key(doc *result.Document) string {
	if p.Settings.Untrusted {
		return "workflow\x00" + p.Event.Workflow + "\x00" + p.Settings.Key
	}
	return "file\x00" + doc.File + "\x00" + p.Settings.Key
}

// errNoPullRequest and errSeveral say why nobody can be told.
var (
	errNoPullRequest = errors.New("no open pull request has this commit as its head")
	errSeveral       = errors.New("several open pull requests have this commit as their head")
)

// pullRequest finds the pull request by the event, or, where the event does not say it, by
// its commit. Nothing in a result is asked.
func (p *Publisher) pullRequest(ctx context.Context) (PullRequest, error) {
	if p.Event.Number > 0 {
		pr, err := p.API.PullRequest(ctx, p.Event.Number)
		if err != nil && !refused(err, 401) {
			// The banner is lost, the comment need not be.
			return PullRequest{Number: p.Event.Number}, nil
		}
		return pr, err
	}
	if p.Event.HeadRepo == "" || p.Event.HeadBranch == "" {
		return PullRequest{}, fmt.Errorf("the event %s is of no pull request", strconv.Quote(p.Event.Name))
	}
	owner, _, _ := strings.Cut(p.Event.HeadRepo, "/")
	byBranch, err := p.API.PullRequestsFrom(ctx, owner, p.Event.HeadBranch)
	if err != nil {
		return PullRequest{}, err
	}
	if pr, err := p.only(byBranch); !errors.Is(err, errNoPullRequest) {
		return pr, err
	}
	byCommit, err := p.API.PullRequestsWith(ctx, p.Event.SHA)
	if err != nil {
		return PullRequest{}, err
	}
	return p.only(byCommit)
}

// only is the one pull request whose head is the commit, in the repository of the event.
func (p *Publisher) only(list []PullRequest) (PullRequest, error) {
	var found []PullRequest
	for _, pr := range list {
		if pr.Open && pr.HeadSHA == p.Event.SHA && pr.HeadRepo == p.Event.HeadRepo {
			found = append(found, pr)
		}
	}
	switch len(found) {
	case 0:
		return PullRequest{}, errNoPullRequest
	case 1:
		return found[0], nil
	}
	return PullRequest{}, errSeveral
}

// OptionsFromEnv are those of the API by the environment of a job.
func OptionsFromEnv(getenv func(string) string, repo string) Options {
	return Options{URL: getenv("GITHUB_API_URL"), Token: cmp.Or(getenv("GITHUB_TOKEN"), getenv("GH_TOKEN")), Repo: repo}
}
