// Package webhook posts a verdict as JSON to an address that the file names by an environment variable: a chat's
// incoming webhook (Slack, Mattermost, Discord), or a program of one's own. The members are those of [reports.Notice].
//
// The address is a secret. It is read from the environment, so that a file never contains it, and a job of a fork, which
// has no secrets, posts nothing. Only variables that begin with PIPELINE_WEBHOOK are read: the file of a change must not
// send another secret of the job to an address of its choice. It must be https unless it is on this machine. It is posted once:
// after a lost answer
// nothing is sent again, because the receiver may have shown it. Faults are warnings, and only the verdict decides how a
// run ends.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/publish/remote"
	"github.com/servegate/pipeline/reports/result"
)

// postBudget is the longest time that posting takes, with the waits that the receiver asks for.
const postBudget = 30 * time.Second

// maxAnswer limits what is read of an answer, in bytes.
const maxAnswer = 4096

// own matches the variables that a file may name.
var own = lazyregexp.New(`^PIPELINE_WEBHOOK(_[A-Z0-9_]+)?$`)

// hooks is the publisher of a process: it posts wherever a file names it.
type hooks struct {
	publish.Base
	publish.Job
	clock  remote.Clock
	posted publish.Posted
}

// New returns the publisher of a job: it is a publish.Kind.
func New(j publish.Job) publish.Publisher {
	return &hooks{Base: publish.Base{Service: "webhooks"}, Job: j}
}

// Name implements publish.Publisher.
func (h *hooks) Name() string { return "webhook" }

// Here implements publish.Publisher.
func (h *hooks) Here() bool { return true }

// Usable implements publish.Publisher.
func (h *hooks) Usable() error { return nil }

// Change implements publish.Publisher. A webhook knows no change.
func (h *hooks) Change() publish.Change { return publish.Change{Unmerged: true} }

// Posted implements publish.Publisher.
func (h *hooks) Posted() publish.Posted { return h.posted }

// Run implements publish.Publisher. A simulated run posts nothing.
func (h *hooks) Run(o publish.RunOptions) publish.Run {
	r := &publish.AtEnd{Limit: postBudget * time.Duration(max(len(o.Settings), 1))}
	if o.Simulated {
		return r
	}
	r.Post = func(ctx context.Context, doc *result.Document) publish.Posted { return h.Post(ctx, doc, o.Settings) }
	return r
}

// Post implements publish.Publisher.
func (h *hooks) Post(ctx context.Context, doc *result.Document, settings []publish.Settings) publish.Posted {
	var all publish.Posted
	for _, s := range settings {
		name := s.Options["url_env"]
		if when := publish.When(s.Options["when"]); when == publish.WhenFails && doc.ExitCode == 0 || doc.Status == result.StatusInterrupted {
			continue
		}
		for _, variable := range []string{name, s.Options["token_env"]} {
			if variable != "" && !own.MatchString(variable) {
				all.Warnings = append(all.Warnings, fmt.Sprintf("report.webhook.%s was not posted: %s must be PIPELINE_WEBHOOK or begin with "+
					"PIPELINE_WEBHOOK_", s.Key, escape.Text(variable, 100)))
				name = ""
			}
		}
		if name == "" {
			continue
		}
		address := h.Getenv(name)
		if address == "" {
			all.Notes = append(all.Notes, fmt.Sprintf("report.webhook.%s posts nothing: the environment has no %s", s.Key, name))
			continue
		}
		if err := h.send(remote.WithBudget(ctx, postBudget), name, address, doc, s); err != nil {
			all.Warnings = append(all.Warnings, fmt.Sprintf("report.webhook.%s was not posted: %s", s.Key, h.hidden(err, address)))
		}
	}
	h.posted = all
	return all
}

// hidden returns an error as one line without the address and other secrets.
func (h *hooks) hidden(err error, address string) string {
	text := strings.ReplaceAll(err.Error(), address, "the address")
	if u, parsed := url.Parse(address); parsed == nil && len(u.Path) > 1 {
		text = strings.ReplaceAll(text, u.Path, "…")
	}
	if h.Mask != nil {
		text = h.Mask(text)
	}
	return escape.Text(text, 400)
}

// send posts the verdict once.
func (h *hooks) send(ctx context.Context, name, address string, doc *result.Document, s publish.Settings) error {
	base, err := remote.Base(name, address)
	if err != nil {
		return fmt.Errorf("the address in %s must be an https URL", name)
	}
	n := reports.NewNotice(doc)
	n.Base = s.Base
	if doc.Source != nil {
		n.Commit, n.Repository = doc.Source.Commit, doc.Source.Repository
	}
	n.Number = s.Number
	n.Text = plain.Replace(n.Text)
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if h.Mask != nil {
		body = []byte(h.Mask(string(body)))
	}
	req, err := http.NewRequestWithContext(remote.Idempotent(ctx, false), http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address is not valid")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "pipeline")
	req.Header.Set("Idempotency-Key", doc.RunID)
	t := &remote.Transport{Service: "the receiver", Next: h.Transport, Scheme: base.Scheme, Host: base.Host, Header: "Authorization",
		Clock: remote.ClockOr(h.clock)}
	if token := s.Options["token_env"]; token != "" {
		t.Value = "Bearer " + h.Getenv(token)
	}
	resp, err := (&http.Client{Transport: t, CheckRedirect: t.SameOrigin}).Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // the address is a secret
		}
		return err
	}
	defer func() { _ = resp.Body.Close() }() // read as far as it is of use
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode >= 300 {
		return &remote.Error{Service: "the receiver", Op: "posting the verdict", Code: resp.StatusCode,
			Message: cmp.Or(remote.OneLine(string(answer)), http.StatusText(resp.StatusCode))}
	}
	return nil
}

// plain escapes what Slack reads as markup: a name such as <!channel> would notify everybody.
var plain = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
