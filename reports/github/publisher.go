package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/publish/note"
	"github.com/servegate/pipeline/reports/publish/remote"
	"github.com/servegate/pipeline/reports/result"
)

// Mask hides secrets in what is posted; nil hides nothing.
type Mask func(string) string

func (m Mask) of(text string) string {
	if m == nil {
		return text
	}
	return m(text)
}

// Time limits for GitHub. A gate with a verdict must not hold a GPU for a comment, and an API that
// hangs must not block a job.
const (
	startBudget   = 30 * time.Second
	checkBudget   = 60 * time.Second
	statusBudget  = 30 * time.Second
	commentBudget = 90 * time.Second
	// MaxFinish is the longest time that Finish takes.
	MaxFinish    = checkBudget + statusBudget + commentBudget
	issuesBudget = 5 * time.Minute
)

// Publisher posts one run to its pull request. Its methods return warnings, one line each, and are
// safe for concurrent use.
type Publisher struct {
	API      *Client
	Event    Event
	Settings Settings
	// Mask hides secrets in what is posted.
	Mask Mask
	// Clock defaults to the system's.
	Clock Clock
	// ID distinguishes this program from another one that reports in the same job, "" for the only
	// one.
	ID string

	mu sync.Mutex
	// name and context are those of the check run and the status, once checked to be unused by
	// other reports of the same run. Otherwise a green one could hide a red one.
	name, context string
	check         Check
	// unsure is set if a check run may exist that check does not know, or a second one.
	unsure bool
	// begun lists the parts that Start has written, off those that GitHub refuses: one warning for
	// these is enough.
	begun, off []string
}

// parts that are posted, with the permission that each needs.
const (
	partCheck   = "check run"
	partStatus  = "commit status"
	partComment = "comment"
)

var permissions = map[string]string{partCheck: "checks", partStatus: "statuses", partComment: "pull-requests"}

// failed turns an error into a warning. A part that GitHub refuses is not retried.
func (p *Publisher) failed(part string, err error) []string {
	if err == nil || slices.Contains(p.off, part) {
		return nil
	}
	p.off = append(p.off, part)
	return []string{p.Mask.of(warning("the "+part+" was not written", err, permissions[part]))}
}

func (p *Publisher) checker() checker { return checker{p.API, remote.ClockOr(p.Clock)} }

// newCheck returns the check run of this leg of this run of the workflow.
func (p *Publisher) newCheck() Check {
	external := fmt.Sprintf("%d.%d", p.Event.Run.ID, p.Event.Run.Attempt)
	if id := note.LegID(p.Settings.Leg); id != "" || p.ID != "" {
		external += "." + note.Digest("check", id, p.ID)
	}
	return Check{Name: cmp.Or(p.name, note.LegNamed(p.Settings.Leg, p.Settings.Check)), SHA: p.Event.SHA, DetailsURL: p.Event.RunURL(),
		ExternalID: external}
}

func (p *Publisher) newStatus(state, description string) Status {
	return Status{State: state, Context: cmp.Or(p.context, note.LegNamed(p.Settings.Leg, p.Settings.Status)), Description: description,
		URL: p.Event.AttemptURL()}
}

// otherNames returns names to use if another report of the run has the first one.
func (p *Publisher) otherNames(name string) []string {
	out := []string{name}
	if job := p.Settings.Leg.Job; job != "" && p.Settings.Leg.Matrix == "" {
		out = append(out, name+" ("+job+")")
	}
	for n := 2; n < 10; n++ {
		out = append(out, fmt.Sprintf("%s %d", out[min(1, len(out)-1)], n))
	}
	return out
}

// nameCheck chooses the name of the check run, because GitHub shows only the newest of a name.
func (p *Publisher) nameCheck(ctx context.Context) {
	k := p.newCheck()
	run := fmt.Sprintf("%d.%d", p.Event.Run.ID, p.Event.Run.Attempt)
	for _, name := range p.otherNames(k.Name) {
		found, err := p.API.Checks(ctx, k.SHA, name)
		taken := slices.ContainsFunc(found, func(f Check) bool {
			return f.ExternalID != k.ExternalID && (f.ExternalID == run || strings.HasPrefix(f.ExternalID, run+"."))
		})
		if err != nil || !taken {
			p.name = name
			return
		}
	}
}

// nameStatus chooses the context of the commit status, because a newer status replaces an older
// one.
func (p *Publisher) nameStatus(ctx context.Context) {
	if p.context != "" {
		return
	}
	s := p.newStatus("", "")
	p.context = s.Context
	all, err := p.API.Statuses(ctx, p.Event.SHA)
	if err != nil {
		return
	}
	for _, name := range p.otherNames(s.Context) {
		taken := slices.ContainsFunc(all, func(o Status) bool { return o.Context == name && o.URL == s.URL })
		if !taken {
			p.context = name
			return
		}
	}
}

// Start posts that the run has begun: a check run in progress and a pending commit status. What
// GitHub refuses becomes a warning. What failed temporarily is retried by the next Start (see
// Pending) and by Finish.
func (p *Publisher) Start(ctx context.Context) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx = remote.WithBudget(ctx, startBudget)
	var warnings []string
	part := func(name, setting string, begin func() error) {
		if !p.left(name, setting) {
			return
		}
		err := begin()
		if err == nil {
			p.begun = append(p.begun, name)
		}
		if remote.Permanent(err) {
			warnings = append(warnings, p.failed(name, err)...)
		}
	}
	part(partCheck, p.Settings.Check, func() error {
		if p.unsure {
			if found, ok := p.checker().find(ctx, p.newCheck()); ok {
				p.check = found
				return nil
			}
		}
		if p.ID != "" && !p.unsure {
			p.nameCheck(ctx)
		}
		k := p.newCheck()
		k.Title, k.Summary = "Measuring", "The run is going on." // replaces an earlier verdict on the commit
		made, unsure, err := p.checker().create(ctx, k)
		p.check, p.unsure = made, p.unsure || unsure || remote.Uncertain(err)
		return err
	})
	part(partStatus, p.Settings.Status, func() error {
		if p.ID != "" {
			p.nameStatus(ctx)
		}
		return p.API.CreateStatus(ctx, p.Event.SHA, p.newStatus("pending", "Measuring"))
	})
	return warnings
}

// Pending reports whether Start has work left.
func (p *Publisher) Pending() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left(partCheck, p.Settings.Check) || p.left(partStatus, p.Settings.Status)
}

// left reports whether a part is wanted and was neither begun nor refused.
func (p *Publisher) left(part, setting string) bool {
	return setting != "" && !slices.Contains(p.begun, part) && !slices.Contains(p.off, part)
}

// CannotWrite reports that there is no check run, because GitHub refuses one or none is wanted.
func (p *Publisher) CannotWrite() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Settings.Check == "" || slices.Contains(p.off, partCheck)
}

// Finish posts the result. Each part has its own time limit, so that one that hangs does not block
// the others.
func (p *Publisher) Finish(ctx context.Context, doc *result.Document) Posted {
	p.mu.Lock()
	defer p.mu.Unlock()
	var posted Posted
	warn := func(part string, err error) { posted.Warnings = append(posted.Warnings, p.failed(part, err)...) }
	if p.Settings.Check != "" && !slices.Contains(p.off, partCheck) {
		made, err := p.finishCheck(remote.WithBudget(ctx, checkBudget), doc)
		posted.CheckURL = webLink(made.URL, p.Event.ServerURL)
		warn(partCheck, err)
	}
	if p.Settings.Status != "" && !slices.Contains(p.off, partStatus) {
		ctx := remote.WithBudget(ctx, statusBudget)
		if p.ID != "" {
			p.nameStatus(ctx)
		}
		s := status(p.newStatus("", ""), doc, p.Settings.Report)
		if p.Settings.Untrusted {
			s = untrustedStatus(s)
		}
		s.Description = p.Mask.of(s.Description)
		warn(partStatus, p.API.CreateStatus(ctx, p.Event.SHA, s))
	}
	// An interrupted run has seconds left and no verdict to comment on.
	if m := p.Settings.Comment; m != "" && m != publish.CommentNever && doc.Status != result.StatusInterrupted {
		url, err := p.comment(remote.WithBudget(ctx, commentBudget), doc, posted.CheckURL)
		posted.CommentURL = webLink(url, p.Event.ServerURL)
		switch untidy, ok := errors.AsType[*note.UntidyError](err); {
		case errors.Is(err, note.ErrSuperseded), errors.Is(err, errNoPullRequest), errors.Is(err, errSeveral):
			posted.Notes = append(posted.Notes, "no comment: "+err.Error())
		case ok:
			posted.Warnings = append(posted.Warnings, p.Mask.of(warning("earlier comments are left as they are", untidy.Err,
				permissions[partComment])))
		default:
			warn(partComment, err)
		}
	}
	return posted
}

func (p *Publisher) finishCheck(ctx context.Context, doc *result.Document) (Check, error) {
	if p.ID != "" {
		p.name = ""
		p.nameCheck(ctx) // two that began at the same time did not see each other
	}
	k := p.newCheck()
	k, err := completed(k, doc, p.Settings.Report)
	if err != nil {
		return k, err
	}
	if p.Settings.Untrusted {
		k = untrusted(k)
	}
	k.Title, k.Summary = p.Mask.of(k.Title), p.Mask.of(k.Summary)
	for i := range k.Annotations {
		a := &k.Annotations[i]
		a.Path, a.Title, a.Message = p.Mask.of(a.Path), p.Mask.of(a.Title), p.Mask.of(a.Message)
	}
	k.ID = p.check.ID
	if k.ID == 0 && p.unsure {
		found, _ := p.checker().find(ctx, k)
		k.ID = found.ID
	}
	made, unsure, err := p.checker().finish(ctx, k)
	if made.ID != 0 {
		p.check = made
	}
	if (p.unsure || unsure) && made.ID != 0 {
		k.ID = made.ID
		err = errors.Join(err, p.checker().settle(ctx, k))
	}
	return made, err
}

// Cancel posts that the run was interrupted. It tries once, with the present state.
func (p *Publisher) Cancel(ctx context.Context) []string {
	return p.end(ctx, Cancelled, "Cancelled", "The run was ended before it had a verdict.")
}

// Fail posts that the run ended without a result: because of the configuration, which belongs to
// the change, or of the infrastructure.
func (p *Publisher) Fail(ctx context.Context, reason string, configuration bool) []string {
	failed := result.OutcomeOf(result.CauseFailed)
	conclusion, title := string(failed.Check), failed.Headline
	if configuration {
		conclusion, title = Failure, unmeasured
	}
	return p.end(ctx, conclusion, title, p.Mask.of(escape.Inline(p.Mask.of(reason), maxMessage)))
}

// unmeasured is the title of a check run that failed because of the configuration.
const unmeasured = "configuration, no verdict"

// end completes what Start began.
func (p *Publisher) end(ctx context.Context, conclusion, title, summary string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx = remote.WithBudget(ctx, startBudget)
	var warnings []string
	if p.check.ID == 0 && p.unsure {
		p.check, _ = p.checker().find(ctx, p.newCheck())
	}
	if p.check.ID != 0 {
		k := p.newCheck()
		k.ID, k.Conclusion, k.Title, k.Summary = p.check.ID, conclusion, title, summary
		_, err := p.API.UpdateCheck(ctx, k)
		warnings = append(warnings, p.failed(partCheck, err)...)
	}
	if p.Settings.Status != "" && !slices.Contains(p.off, partStatus) {
		err := p.API.CreateStatus(ctx, p.Event.SHA, p.newStatus("error", title))
		warnings = append(warnings, p.failed(partStatus, err)...)
	}
	return warnings
}

// Abandon completes the check run and the commit status of a program that was killed. A verdict
// that was posted stays.
func (p *Publisher) Abandon(ctx context.Context) []string {
	ctx = remote.WithBudget(ctx, startBudget)
	left := p.abandoned(ctx)
	if left.Check == "" && left.Status == "" {
		return nil
	}
	rest := &Publisher{API: p.API, Event: p.Event, Settings: left, Mask: p.Mask, Clock: p.Clock, ID: p.ID, check: p.check, name: p.name,
		context: p.context}
	return rest.Cancel(ctx)
}

// abandoned returns the settings reduced to the parts that are still in progress.
func (p *Publisher) abandoned(ctx context.Context) Settings {
	left := p.Settings
	if left.Check != "" {
		want := p.newCheck()
		want.Name = "" // the name may have been changed
		k, ok := p.checker().find(ctx, want)
		if p.check = k; !ok || k.Conclusion != "" {
			left.Check, p.check = "", Check{}
		}
		p.name = k.Name
	}
	if left.Status != "" {
		want := p.newStatus("pending", "")
		all, err := p.API.Statuses(ctx, p.Event.SHA)
		names := p.otherNames(want.Context)
		i := slices.IndexFunc(all, func(s Status) bool {
			return slices.Contains(names, s.Context) && s.State == want.State && s.URL == want.URL
		})
		if err != nil || i < 0 {
			left.Status = ""
		} else {
			p.context = all[i].Context
		}
	}
	return left
}

// webLink returns an address from the API if it is on the server, else "".
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
	// The files are only needed for the banner, so an error is ignored.
	var judges []string
	if files, err := p.API.Files(ctx, pr.Number); err == nil {
		judges = note.Judging(files, doc)
	}
	body := p.body(doc, pr.HeadSHA, judges, checkURL)
	chosen, author := p.Settings.Comment, p.author(ctx)
	c := &note.Poster{
		In: conversation{p.API, pr.Number}, Clock: remote.ClockOr(p.Clock), Mode: chosen, Budget: bodyBudget,
		Mark: note.Marker{Key: note.KeyOf(p.key(doc)), Run: p.Event.Run, SHA: p.Event.SHA, Single: chosen == publish.CommentNew},
		Ours: func(c Comment) bool { return wroteAs(author, c.Author, c.Bot) },
		File: p.Mask.of(doc.File), Full: body.Full, Mine: body.Section(doc),
		Render: func(budget int) (note.Section, string, error) {
			own, banner, err := body.Render(doc, budget)
			return own.Masked(p.Mask.of), p.Mask.of(banner), err
		},
	}
	made, err := c.Post(ctx)
	return made.URL, err
}

// author returns the login of the token. If GitHub does not return it, it uses the app that created
// the check run with the same token.
func (p *Publisher) author(ctx context.Context) string {
	login, err := p.API.Viewer(ctx)
	if err != nil {
		return p.check.Author
	}
	return login
}

// key identifies the report by its file, or by the workflow if the file is not trusted. It includes
// the configured key.
func (p *Publisher) key(doc *result.Document) string {
	if p.Settings.Untrusted {
		return "workflow\x00" + p.Event.Workflow + "\x00" + p.Settings.Key
	}
	return "file\x00" + doc.File + "\x00" + p.Settings.Key
}

// Why there is no pull request to comment on.
var (
	errNoPullRequest = errors.New("no open pull request has this commit as its head")
	errSeveral       = errors.New("several open pull requests have this commit as their head")
)

// pullRequest finds the pull request by the event or, if the event does not contain it, by its
// commit. It never uses the result.
func (p *Publisher) pullRequest(ctx context.Context) (PullRequest, error) {
	if p.Event.Number > 0 {
		pr, err := p.API.PullRequest(ctx, p.Event.Number)
		if err != nil && !remote.Refused(err, 401) {
			// Only the banner is lost; the comment is still possible.
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

// only returns the one pull request whose head is the commit, in the repository of the event.
func (p *Publisher) only(list []PullRequest) (PullRequest, error) {
	found := slices.DeleteFunc(list, func(pr PullRequest) bool {
		return !pr.Open || pr.HeadSHA != p.Event.SHA || pr.HeadRepo != p.Event.HeadRepo
	})
	switch len(found) {
	case 0:
		return PullRequest{}, errNoPullRequest
	case 1:
		return found[0], nil
	}
	return PullRequest{}, errSeveral
}

// OptionsFromEnv returns the options of the API from the environment of a job.
func OptionsFromEnv(getenv func(string) string, repo string) Options {
	return Options{URL: getenv("GITHUB_API_URL"), Token: cmp.Or(getenv("GITHUB_TOKEN"), getenv("GH_TOKEN")), Repo: repo}
}
