package judge_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
)

func foreign(sent, failed int, in, out float64) result.Run {
	return result.Run{Status: result.RunOK, Repeat: 1, Sent: sent, Failed: failed, Audit: map[string]any{"source": "a:1", "input_tokens": in,
		"output_tokens": out}}
}

// Two sides of another load generator are held to the same work by what it records: a failure
// is an outcome and no other work.
func TestUnlike(t *testing.T) {
	base := foreign(100, 0, 12800, 1600)
	passes := foreign(300, 0, 38400, 4800)
	passes.Audit["passes"] = 3.0
	for name, tt := range map[string]struct {
		head result.Run
		want string
	}{
		"equal":                  {foreign(100, 0, 12800, 1600), ""},
		"a hair of difference":   {foreign(100, 0, 12850, 1605), ""},
		"failures":               {foreign(100, 50, 6400, 800), ""},
		"three passes":           {passes, ""},
		"fewer requests":         {foreign(99, 0, 12672, 1584), "requests: base 100, head 99"},
		"longer prompts":         {foreign(100, 0, 25600, 1600), "input tokens per request: base 128, head 256"},
		"cut answers":            {foreign(100, 0, 12800, 1500), "output tokens per request: base 16, head 15"},
		"tokens are unknown":     {result.Run{Status: result.RunOK, Sent: 100, Audit: map[string]any{"source": "b:1"}}, ""},
		"ours by hash":           {result.Run{Sent: 100, Audit: map[string]any{"work_hash": "x"}}, "requests sent: base none, head x"},
		"all failed, no measure": {foreign(100, 100, 0, 0), ""},
	} {
		got := comparability.Compare(comparability.OfRun(&result.Cell{}, base), comparability.OfRun(&result.Cell{}, tt.head),
			nil).Invalid().Text("base", "head")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	ours := result.Run{Sent: 100, Audit: map[string]any{"work_hash": "x", "schedule_hash": "y"}}
	more := ours
	more.Sent = 200
	if got := comparability.Compare(comparability.OfRun(&result.Cell{}, ours), comparability.OfRun(&result.Cell{}, more), nil); len(got) > 0 {
		t.Errorf("equal hashes: %v", got)
	}
}

func TestTooFewRequests(t *testing.T) {
	ours := result.Run{Sent: 10, Audit: map[string]any{"work_hash": "x"}}
	passes := foreign(1500, 0, 1, 1)
	passes.Audit["passes"] = 3.0
	for name, tt := range map[string]struct {
		run result.Run
		few bool
	}{
		"enough":           {foreign(1000, 0, 1, 1), false},
		"too few":          {foreign(999, 0, 1, 1), true},
		"failures of them": {foreign(1000, 1, 1, 1), true},
		"three small runs": {passes, true},
		"of our own load":  {ours, false}, // the file was invalid, or allowed, before it ran
	} {
		for cell := range 2 { // few on one side or on both
			s := newSession()
			s.plan.Gates[0].Metrics = []string{"ttft.p99"}
			for side := cell; side < 2; side++ {
				s.each(side, func(r *result.Run) { r.Sent, r.Failed, r.Audit = tt.run.Sent, tt.run.Failed, tt.run.Audit })
			}
			if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
				t.Fatal(err)
			}
			d := s.doc.Gates[0].Decisions[0]
			if few := strings.Contains(d.Reason, "ttft.p99 needs at least 1000 requests"); few != tt.few {
				t.Errorf("%s: %s: %s", name, d.Verdict, d.Reason)
			}
			if cell == 0 && (d.Verdict == result.Invalid) != tt.few {
				t.Errorf("%s: %s: %s", name, d.Verdict, d.Reason)
			}
		}
	}
}
