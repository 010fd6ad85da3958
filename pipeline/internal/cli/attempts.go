package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
)

// tries records how often a change was measured on this machine. The zero value records nothing.
type tries struct {
	ledger history.Attempts
	change history.Change
	known  bool
}

// tries returns the attempts at a plan's change. It counts them only for unmerged changes, in workflows of pull
// requests and merge queues, where a pass lets the change in. On their own machines people may try as often as they
// like. A nightly job measures the same commit again on purpose, and a simulated run does not test the change.
func (a *app) tries(p *plan.Plan, f runFlags) tries {
	c := a.change()
	base, err := os.UserCacheDir()
	if err != nil || p.Simulated != "" || !c.Unmerged {
		return tries{}
	}
	change := history.Change{
		ID: c.Head, Base: strings.TrimPrefix(c.Base, "refs/heads/"), File: p.File,
		Leg: strings.Join(append([]string{f.post.key, c.Job, a.input("MATRIX")}, f.plan.only...), "\n"),
	}
	switch {
	case c.Number > 0 && c.Queued: // a queued change has already passed
		change.ID = fmt.Sprintf("%s#%d queued", c.Repo, c.Number)
	case c.Number > 0:
		change.ID = fmt.Sprintf("%s#%d", c.Repo, c.Number)
	default:
		change.ID = cmp.Or(c.Head, c.Commit)
	}
	if change.ID == "" {
		return tries{}
	}
	return tries{history.Attempts{Dir: filepath.Join(base, "pipeline", "attempts")}, change, true}
}

// count sets the attempt number of a plan, and suggests resuming the last attempt. If the runner counts more attempts
// than this machine remembers, the results of the others are unknown.
func (t tries) count(a *app, p *plan.Plan) {
	if !t.known {
		return
	}
	earlier, err := t.ledger.Earlier(t.change)
	if err != nil {
		fmt.Fprintf(a.Err, "warning: %s\n", escape.Line(err.Error(), 400))
	}
	if least := max(p.Attempt, len(earlier)+1); err != nil && least > 1 || least > len(earlier)+1 {
		p.AgainUnknown(least)
		return
	}
	var red []string
	for _, r := range earlier {
		red = append(red, r.Red...)
	}
	slices.Sort(red)
	p.Again(len(earlier)+1, slices.Compact(red))
	if len(earlier) == 0 {
		return
	}
	last := earlier[len(earlier)-1]
	if _, err := os.Stat(last.Dir); err == nil && last.Plan == p.Essence() {
		fmt.Fprintf(a.Err, "note: run %s measured this change before; --resume --out %s goes on with it, or repeats its verdict\n",
			escape.Line(last.ID, 80), escape.Line(last.Dir, 400))
	}
}

// note records a judged run.
func (t tries) note(a *app, p *plan.Plan, res *session.Result) {
	if !t.known || res == nil || res.Document.Status != result.StatusComplete || res.Document.Verdict == "" {
		return
	}
	dir, err := filepath.Abs(res.Dir)
	if err == nil {
		err = t.ledger.Note(t.change, history.Attempt{ID: res.Document.RunID, Dir: dir, Time: res.Document.Started, Plan: p.Essence(),
			Red: red(res.Document)})
	}
	if err != nil {
		fmt.Fprintf(a.Err, "warning: %s\n", escape.Line(err.Error(), 400))
	}
}

// red returns the regressed gates.
func red(doc *result.Document) []string {
	var out []string
	for i := range doc.Gates {
		if doc.Gates[i].Verdict == result.Regression {
			out = append(out, doc.Gates[i].Addr)
		}
	}
	return out
}
