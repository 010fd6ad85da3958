package buildkite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/publish/note"
	"github.com/servegate/pipeline/reports/result"
)

// Limits of an annotation. The agent accepts 1 MiB of it and 100 KiB for a value of the meta-data.
const (
	annotateBudget = 90 * time.Second
	bodyBudget     = 500_000
	sectionBudget  = 90_000
	maxLegs        = 64
	maxContext     = 100
	maxRounds      = 4
)

// agent is the program that has the token of the job.
const agent = "buildkite-agent"

// inherited lists the variables with which the agent's program authenticates and finds the job. Others would change its
// commands: BUILDKITE_ANNOTATION_APPEND and _SCOPE, BUILDKITE_METADATA_BUILD_ID.
var inherited = []string{"BUILDKITE_AGENT*", "BUILDKITE_AGENT_ACCESS_TOKEN", "BUILDKITE_JOB_ID", "BUILDKITE_NO_HTTP2"}

// job is the publisher of a process, in a Buildkite job or outside.
type job struct {
	publish.Base
	publish.Job
	posted publish.Posted
}

// New returns the publisher of a job: it is a publish.Kind.
func New(j publish.Job) publish.Publisher {
	return &job{Base: publish.Base{Service: "Buildkite"}, Job: j}
}

// Name implements publish.Publisher.
func (j *job) Name() string { return "buildkite" }

// Here implements publish.Publisher.
func (j *job) Here() bool { return j.Getenv("BUILDKITE") == "true" }

// Usable implements publish.Publisher.
func (j *job) Usable() error {
	switch {
	case j.Getenv("BUILDKITE_JOB_ID") == "" || !commitHash.MatchString(j.Getenv("BUILDKITE_COMMIT")):
		return errors.New("not a Buildkite job: BUILDKITE_JOB_ID and BUILDKITE_COMMIT are not set")
	case j.Exec == nil:
		return errors.New("no programs can be started")
	}
	return nil
}

// Change implements publish.Publisher.
func (j *job) Change() publish.Change { return changeOf(j.Getenv) }

// Posted implements publish.Publisher.
func (j *job) Posted() publish.Posted { return j.posted }

// Run implements publish.Publisher. A simulated run annotates nothing.
func (j *job) Run(o publish.RunOptions) publish.Run {
	r := &publish.AtEnd{Limit: annotateBudget}
	if len(o.Settings) == 0 || !j.Here() {
		return r
	}
	switch err := j.Usable(); {
	case err != nil:
		r.Notice = "the build is not annotated: " + err.Error()
	case o.Simulated:
		r.Notice = "the build is not annotated: the run is simulated; `pipeline comment --allow-simulated` posts it all the same"
	default:
		r.Post = func(ctx context.Context, doc *result.Document) publish.Posted { return j.Post(ctx, doc, o.Settings) }
		r.Ended = func(ctx context.Context, err error) []string { return j.failed(ctx, err, o.Settings) }
	}
	return r
}

// Post implements publish.Publisher.
func (j *job) Post(ctx context.Context, doc *result.Document, settings []publish.Settings) publish.Posted {
	var all publish.Posted
	for _, s := range settings {
		if s.Comment == "" || s.Comment == publish.CommentNever || doc.Status == result.StatusInterrupted {
			continue
		}
		s.Leg = legOf(j.Getenv)
		if err := j.annotate(ctx, doc, s); err != nil {
			all.Warnings = append(all.Warnings, j.mask("the build was not annotated: "+err.Error()))
		}
	}
	if page := j.Getenv("BUILDKITE_BUILD_URL"); len(all.Warnings) == 0 && webPage.MatchString(page) {
		all.CommentURL = page
	}
	j.posted = all
	return all
}

func (j *job) mask(text string) string {
	if j.Mask == nil {
		return text
	}
	return j.Mask(text)
}

// run runs a command of the agent.
func (j *job) run(ctx context.Context, stdin string, args ...string) (string, error) {
	return j.Exec(ctx, publish.Program{Argv: append([]string{agent}, args...), Stdin: stdin, Inherit: inherited})
}

// annotate stores the section of this leg and writes the annotation of all legs. A leg that ends at the same time has
// stored its section before it reads those of others, so that the last one to write knows all: the sections are read
// again after writing, and written again if there are new ones.
func (j *job) annotate(ctx context.Context, doc *result.Document, s publish.Settings) error {
	body := j.body(s)
	mine, banner, err := body.Render(doc, sectionBudget)
	if err != nil {
		return err
	}
	mine, banner = mine.Masked(j.mask), j.mask(banner)
	key := "pipeline:" + note.Digest("annotation", doc.File, s.Key)
	stored := note.Compose("", "", banner, []note.Section{mine}, body.Full, sectionBudget)
	own := key + ":" + note.Digest("leg", note.LegID(s.Leg), doc.RunID)
	_, lost := j.run(ctx, stored, "meta-data", "set", own)
	var written []string
	for round := range maxRounds {
		keys, sections := j.others(ctx, key, own)
		if round > 0 && slices.Equal(keys, written) {
			return nil
		}
		all := note.Merge(append(sections, mine))
		text := note.Compose("", j.mask(doc.File), banner, all, body.Full, bodyBudget)
		if _, err := j.run(ctx, note.Bare(text), "annotate", "--context", contextOf(doc, s), "--style", style(all)); err != nil {
			return err
		}
		written = keys
		if lost != nil {
			return fmt.Errorf("the other jobs of the build do not see this one: %w", lost)
		}
	}
	return nil
}

// others reads the sections that other legs have stored, and the keys of all. Without an answer there are none: the
// annotation then shows this leg alone.
func (j *job) others(ctx context.Context, prefix, own string) (keys []string, sections []note.Section) {
	list, err := j.run(ctx, "", "meta-data", "keys")
	if err != nil {
		return nil, nil
	}
	for line := range strings.Lines(list) {
		if key := strings.TrimSpace(line); strings.HasPrefix(key, prefix+":") && key != own && len(keys) < maxLegs {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		if text, err := j.run(ctx, "", "meta-data", "get", key); err == nil {
			sections = append(sections, note.ParseSections(text)...)
		}
	}
	return keys, sections
}

// failed annotates that the run has no result.
func (j *job) failed(ctx context.Context, err error, settings []publish.Settings) []string {
	var warnings []string
	for _, s := range settings {
		if s.Comment == "" || s.Comment == publish.CommentNever {
			continue
		}
		s.Leg = legOf(j.Getenv)
		text := "**" + escape.Inline(result.OutcomeOf(result.CauseFailed).Headline, 200) + "**: " + escape.Inline(j.mask(err.Error()),
			2000) + "\n"
		_, failed := j.run(ctx, text, "annotate", "--context", trim(contextName(s)+" "+j.Getenv("BUILDKITE_JOB_ID")), "--style", "warning")
		if failed != nil {
			warnings = append(warnings, j.mask("the build was not annotated: "+failed.Error()))
		}
	}
	return warnings
}

// contextName returns the name of an annotation: a later one of the same name replaces it.
func contextName(s publish.Settings) string { return "pipeline/" + cmp.Or(s.Key, "gate") }

func contextOf(doc *result.Document, s publish.Settings) string {
	return trim(contextName(s) + " " + note.Digest("context", doc.File))
}

func trim(name string) string { return escape.Text(name, maxContext) }

// style returns the style of the worst section.
func style(all []note.Section) string {
	switch note.Worst(all) {
	case result.CheckFailure:
		return "error"
	case result.CheckNeutral:
		return "warning"
	}
	return "success"
}

// body returns what the annotation shows beside the result.
func (j *job) body(s publish.Settings) note.Body {
	sha, repo := j.Getenv("BUILDKITE_COMMIT"), forgeOf(j.Getenv("BUILDKITE_REPO"))
	b := note.Body{Change: "pull request", Full: "the job's artifacts", SHA: sha, Base: s.Base, Attempt: attempt(j.Getenv), Set: s,
		FileURL: func(note.Annotation) string { return "" },
		CommitURL: func(sha string, _ bool) string {
			if repo.host != "github.com" {
				return ""
			}
			return "https://github.com/" + repo.path + "/commit/" + sha
		},
	}
	if page := j.Getenv("BUILDKITE_BUILD_URL"); webPage.MatchString(page) {
		b.Links = []string{"[Job](" + page + "#" + j.Getenv("BUILDKITE_JOB_ID") + ")"}
	}
	return b
}
