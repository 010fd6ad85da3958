package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/servegate/pipeline/pipeline/internal/attempts"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
)

// tries remembers how often a change was measured on this machine. The zero value
// remembers nothing.
type tries struct {
	ledger attempts.Ledger
	key    attempts.Key
	known  bool
}

// tries of a plan's change. They are counted where a pass lets a change in: in workflows of
// pull requests and merge queues. Somebody at a machine of their own may try as often as
// they like, a nightly job measures the same commit again on purpose, and a rehearsal
// shows nothing of the change.
func (a *app) tries(p *plan.Plan) tries {
	head := a.head()
	base, err := os.UserCacheDir()
	if err != nil || head == "" || p.Simulated != "" || a.changeEvent() == "" {
		return tries{}
	}
	return tries{
		ledger: attempts.Open(filepath.Join(base, "pipeline", "attempts")),
		key:    attempts.Key{Head: head, File: p.File, Plan: p.Essence()}, known: true,
	}
}

// head is the commit that a workflow measures: that of the pull request, not of the merge
// that the runner made of it, which is another one whenever its target has moved.
func (a *app) head() string {
	var event struct {
		PullRequest struct {
			Head struct {
				SHA string `json:"sha"`
			} `json:"head"`
		} `json:"pull_request"`
	}
	if text, err := os.ReadFile(a.Getenv("GITHUB_EVENT_PATH")); err == nil {
		// What is no event names no pull request.
		_ = json.Unmarshal(text, &event)
	}
	return cmp.Or(event.PullRequest.Head.SHA, a.Getenv("GITHUB_SHA"))
}

// count makes a plan the attempt that it is, and says how to go on with the last one
// instead.
func (t tries) count(a *app, p *plan.Plan) {
	if !t.known {
		return
	}
	earlier, err := t.ledger.Earlier(t.key)
	if err != nil {
		fmt.Fprintf(a.Err, "warning: %s\n", escape.Line(err.Error(), 400))
		return
	}
	if len(earlier) == 0 {
		return
	}
	p.Again(max(p.Attempt, len(earlier)+1))
	last := earlier[len(earlier)-1]
	if _, err := os.Stat(last.Dir); err == nil {
		fmt.Fprintf(a.Err, "note: run %s measured this change before; --resume --out %s goes on with it, or repeats its verdict\n", escape.Line(last.ID, 80), escape.Line(last.Dir, 400))
	}
}

// note remembers a run that was judged.
func (t tries) note(a *app, res *session.Result) {
	if !t.known || res == nil || res.Document.Status != result.StatusComplete || res.Document.Verdict == "" {
		return
	}
	dir, err := filepath.Abs(res.Dir)
	if err == nil {
		err = t.ledger.Note(t.key, attempts.Run{ID: res.Document.RunID, Dir: dir, Time: res.Document.Started})
	}
	if err != nil {
		fmt.Fprintf(a.Err, "warning: %s\n", escape.Line(err.Error(), 400))
	}
}
