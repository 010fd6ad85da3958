package github_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports/series"
)

// TestAnswerOnce: the commit is searched for once for a state of an issue, and again where that failed.
func TestAnswerOnce(t *testing.T) {
	s := server(t)
	h := regressed(t)
	searches := 0
	answer := func(text string, err error) []string {
		k := tracker(t, s)
		k.Sync(t.Context(), h)
		did := k.Answer(t.Context(), h, func(key string) (string, error) {
			searches++
			if key != aKey {
				t.Errorf("asked for %s", key)
			}
			return text, err
		})
		return did.Warnings
	}
	if w := answer("", errors.New("no disk")); len(w) != 1 || !strings.Contains(w[0], "no disk") || len(s.Comments()) != 0 {
		t.Errorf("a search that failed: %q, %d comments", w, len(s.Comments()))
	}
	for range 2 {
		if w := answer("**TTFT p99 +25 %** by `abc`", nil); len(w) > 0 {
			t.Error(w)
		}
	}
	if searches != 2 || len(s.Comments()) != 1 {
		t.Fatalf("%d searches, %d comments", searches, len(s.Comments()))
	}
	contains(t, s.Comments()[0].Body, "Which commit it was:", "by `abc`")
	contains(t, oneIssue(t, s).Body, "`pipeline bisect FILE --from-history "+aKey+"`")
}

// TestAnswerToNothing: without a regression, an issue or known commits nothing is searched for.
func TestAnswerToNothing(t *testing.T) {
	unknown := regressed(t)
	for i := range unknown.Trends[0].Parts[0].Points {
		unknown.Trends[0].Parts[0].Points[i].Commit = ""
	}
	for name, h := range map[string]*series.History{"no regression": nights(t, -1, times(0.4, 30)...), "commits are unknown": unknown} {
		s := server(t)
		k := tracker(t, s)
		k.Sync(t.Context(), h)
		did := k.Answer(t.Context(), h, func(string) (string, error) {
			t.Errorf("%s: searched", name)
			return "", nil
		})
		if len(did.Warnings) > 0 {
			t.Error(name, did.Warnings)
		}
	}
	s := server(t)
	h := regressed(t)
	if did := tracker(t, s).Answer(t.Context(), h, nil); len(did.Done)+len(did.Warnings) > 0 {
		t.Errorf("without an issue: %+v", did)
	}
	tracker(t, s).Sync(t.Context(), h)
	k := tracker(t, s)
	k.DryRun = true
	if did := k.Answer(t.Context(), h, nil); len(did.Done) != 1 || did.Done[0].Action != "searched" || len(s.Comments()) > 0 {
		t.Errorf("a dry run: %+v", did)
	}
}

// The ends of a search leave a session of room around the change.
func TestEndsOfASeries(t *testing.T) {
	h := regressed(t)
	tr := &h.Trends[0]
	good, bad, ok := tr.Ends()
	at := tr.Parts[0].Changes[len(tr.Parts[0].Changes)-1].Index
	if p := tr.Parts[0].Points; !ok || good != p[at-2].Commit || bad != p[min(at+1, len(p)-1)].Commit {
		t.Errorf("%s to %s around session %d", good, bad, at)
	}
	h = nights(t, -1, times(0.4, 30)...)
	if _, _, ok := h.Trends[0].Ends(); ok {
		t.Error("a steady series has ends")
	}
}
