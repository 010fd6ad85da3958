package bisect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/bisection"
	"github.com/servegate/pipeline/reports/result"
)

// world is what a search measures: the level of each candidate, and what goes wrong.
type world struct {
	levels []float64
	dead   []int
	calls  int
	fail   map[int]error // by call
}

// measure answers as a session of the file would: four pairs of the ends first, then one of each
// candidate, with differences about its level that are far smaller than its steps.
func (w *world) measure(_ context.Context, s Session) (*result.Document, error) {
	w.calls++
	if err := w.fail[w.calls]; err != nil {
		return nil, err
	}
	at := 0
	if _, err := fmt.Sscanf(s.Candidate["ref"], "c%d", &at); err != nil {
		return nil, err
	}
	n := 1
	if w.calls == 1 {
		n = 4
	}
	d := result.Decision{Kind: result.KindMetric, Metric: "ttft.p50", Verdict: result.Pass, P: new(0.5), Cell: "head", BaseCell: "base"}
	if w.levels[at] > 0.05 {
		d.Verdict, d.P = result.Regression, new(0.001)
	}
	doc := &result.Document{Status: result.StatusComplete}
	cells := []result.Cell{{Hash: "base", Runs: []result.Run{{Status: result.RunOK}}},
		{Hash: "head", Runs: []result.Run{{Status: result.RunOK}}}}
	for i := range n {
		doc.Launches = append(doc.Launches, result.Launch{}, result.Launch{})
		d.Pairs = append(d.Pairs, result.Pair{Repeat: i + 1, Base: 1, Head: (1 + w.levels[at]) * (1 + 0.004*float64((w.calls+i)%3-1))})
	}
	for _, dead := range w.dead {
		if dead == at {
			d.Pairs, cells[1].Runs[0] = nil, result.Run{Status: result.RunFailed, Reason: "CUDA out of memory"}
		}
	}
	doc.Benchmarks = []result.Benchmark{{Cells: cells}}
	doc.Gates = []result.Gate{{Addr: "gate.g", BaselineKind: result.BaselinePaired, Decisions: []result.Decision{d}}}
	return doc, nil
}

func search(t *testing.T, w *world, dir string, resume bool) (*Search, error) {
	t.Helper()
	state := State{File: "f", Sources: "s", Confidence: 0.95}
	for i := range w.levels {
		state.Candidates = append(state.Candidates, Candidate{Ref: fmt.Sprintf("c%d", i)})
	}
	folder, err := OpenFolder(dir, &state, resume)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = folder.Close() })
	return &Search{
		State: state, Folder: folder, Builder: &Builder{}, Measure: w.measure, MaxLaunches: 60,
		Now: func() time.Time { return time.Unix(0, 0) }, Say: func(string) {},
	}, nil
}

func stairs(n int, at map[int]float64) []float64 {
	out := make([]float64, n)
	level := 0.0
	for i := range out {
		level += at[i]
		out[i] = level
	}
	return out
}

func TestSearchAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		w      world
		budget int
		answer bisection.Answer
		want   []string // good and bad of each step
		note   string
	}{
		"one culprit": {world{levels: stairs(20, map[int]float64{13: 0.1})}, 60, bisection.Found, []string{"c12 c13"}, ""},
		"the first":   {world{levels: stairs(20, map[int]float64{1: 0.1})}, 60, bisection.Found, []string{"c0 c1"}, ""},
		"two culprits": {world{levels: stairs(20, map[int]float64{5: 0.1, 13: 0.1})}, 100, bisection.Found, []string{"c4 c5", "c12 c13"},
			""},
		"partly undone": {world{levels: stairs(20, map[int]float64{5: 0.2, 13: -0.1})}, 100, bisection.Found,
			[]string{"c4 c5", "c12 c13"}, ""},
		"it does not start": {world{levels: stairs(20, map[int]float64{13: 0.1}), dead: []int{13}}, 60, bisection.Range,
			[]string{"c12 c14"}, ""},
		"a small budget": {world{levels: stairs(20, map[int]float64{13: 0.1})}, 10, bisection.Range, []string{"c10 c19"},
			"budget was spent"},
		"many small ones": {world{levels: stairs(20, map[int]float64{5: 0.02, 8: 0.02, 11: 0.02, 14: 0.02, 17: 0.02})}, 14, bisection.Range,
			[]string{"c7 c19"}, "No single candidate brought the whole change"},
		"no step":             {world{levels: stairs(20, nil)}, 60, bisection.None, nil, ""},
		"one candidate alone": {world{levels: stairs(2, map[int]float64{1: 0.1})}, 60, bisection.Found, []string{"c0 c1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := search(t, &tt.w, t.TempDir(), false)
			if err != nil {
				t.Fatal(err)
			}
			s.MaxLaunches = tt.budget
			f, err := s.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			d := s.Document(f, "", nil)
			var got []string
			for _, step := range d.Steps {
				got = append(got, step.Good+" "+step.Bad)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || d.Answer != tt.answer || !strings.Contains(strings.Join(d.Notes, " "), tt.note) {
				t.Errorf("%s, %q (-want +got):\n%s", d.Answer, d.Notes, diff)
			}
			if f.Launches > tt.budget {
				t.Errorf("%d launches of %d", f.Launches, tt.budget)
			}
		})
	}
}

// A search that fails, is interrupted or is killed in the middle of a line goes on where it was.
func TestSearchGoesOn(t *testing.T) {
	dir := t.TempDir()
	w := &world{levels: stairs(20, map[int]float64{13: 0.1}), fail: map[int]error{4: errors.New("no GPU is free")}}
	s, err := search(t, w, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no GPU") {
		t.Fatal(err)
	}
	if _, err := search(t, w, dir, true); err == nil || !strings.Contains(err.Error(), "another search") {
		t.Errorf("two at once: %v", err)
	}
	if err := s.Folder.Close(); err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(dir, journalFile)
	text, err := os.ReadFile(journal)
	if err != nil || strings.Count(string(text), "\n") != 3 {
		t.Fatalf("%v, %s", err, text)
	}
	if err := os.WriteFile(journal, append(text, `{"probe":{"candi`...), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = search(t, w, dir, true)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Folder.run(); got != filepath.Join(dir, "runs", "4") {
		t.Errorf("it goes on in %s", got)
	}
	if f, err := s.Run(t.Context()); err != nil || !f.Answer.Done || f.Answer.Steps[0].Bad != 13 {
		t.Errorf("%v, %+v", err, f)
	}
	_ = s.Folder.Close()
	if err := os.WriteFile(journal, []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := search(t, w, dir, true); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a journal of something else: %v", err)
	}
}

// What is no answer about a candidate ends the search: nothing is named by it.
func TestSearchFails(t *testing.T) {
	bad := stairs(20, map[int]float64{13: 0.1})
	for name, tt := range map[string]struct {
		edit func(*result.Document)
		call int
		want string
	}{
		"the ends were interrupted": {func(d *result.Document) { d.Status = result.StatusInterrupted }, 1, "did not end"},
		"the ends failed": {func(d *result.Document) { d.Status, d.StatusReason = result.StatusFailed, "no GPU" }, 1,
			"could not be compared: the session is failed: no GPU"},
		"the good end does not serve": {func(d *result.Document) {
			d.Gates[0].Decisions[0].Pairs, d.Benchmarks[0].Cells[0].Runs[0].Status = nil, result.RunFailed
		}, 2, "could not be measured"},
		"the pair is void": {func(d *result.Document) {
			d.Gates[0].Decisions[0].Pairs, d.Benchmarks[0].Cells[1].Runs[0].Status = nil, result.RunVoid
		}, 2, "could not be measured"},
		"nothing was judged": {func(d *result.Document) { d.Gates = nil }, 2, "the session is complete"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{levels: bad}
			s, err := search(t, w, t.TempDir(), false)
			if err != nil {
				t.Fatal(err)
			}
			s.Measure = func(ctx context.Context, x Session) (*result.Document, error) {
				doc, err := w.measure(ctx, x)
				if w.calls == tt.call {
					tt.edit(doc)
				}
				return doc, err
			}
			if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want …%s…", err, tt.want)
			}
			if len(s.Folder.entries) != tt.call-1 {
				t.Errorf("%d entries in the journal", len(s.Folder.entries))
			}
		})
	}
}

// What regressed but cannot be followed is said, and the time limit ends a search.
func TestSearchOfOtherEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(*result.Document)
		want bisection.Answer
	}{
		"failures alone": {func(d *result.Document) { d.Gates[0].Decisions[0].Kind = result.KindSuccess }, bisection.Unfit},
		"undecided":      {func(d *result.Document) { d.Gates[0].Decisions[0].Verdict = result.Inconclusive }, bisection.Undecided},
		"a stored baseline is another matter": {func(d *result.Document) {
			stored := result.Gate{BaselineKind: result.BaselineStored,
				Decisions: []result.Decision{{Verdict: result.Regression, Kind: result.KindMetric, Metric: "ttft.p50", P: new(0.001)}}}
			d.Gates = append(d.Gates, stored)
			d.Gates[0].Decisions[0].Verdict = result.Pass
		}, bisection.None},
	} {
		w := &world{levels: stairs(20, map[int]float64{13: 0.1})}
		s, err := search(t, w, t.TempDir(), false)
		if err != nil {
			t.Fatal(err)
		}
		s.Measure = func(ctx context.Context, x Session) (*result.Document, error) {
			doc, err := w.measure(ctx, x)
			tt.edit(doc)
			return doc, err
		}
		f, err := s.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d := s.Document(f, "", nil); d.Answer != tt.want || w.calls != 1 {
			t.Errorf("%s: %s after %d sessions", name, d.Answer, w.calls)
		}
	}
	w := &world{levels: stairs(20, map[int]float64{13: 0.1})}
	s, err := search(t, w, t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	s.Until = s.Now().Add(-time.Second)
	if f, err := s.Run(t.Context()); err != nil || len(f.Probes) > 0 {
		t.Errorf("after the time: %v, %+v", err, f)
	}
}

// A probe has the two cells of what is followed in one repeat, in an order that is drawn for each pair.
func TestProbePlan(t *testing.T) {
	cell := func(hash, target string) plan.Cell {
		return plan.Cell{Hash: hash, WorkKey: "w" + hash[:1], Target: target}
	}
	p := &plan.Plan{
		Benchmarks: []plan.Benchmark{
			{Addr: "benchmark.b", RepeatMin: 4, RepeatMax: 12, Cells: []plan.Cell{cell("1b", "base"), cell("1h", "head"), cell("2b", "base"),
				cell("2h", "head")}},
			{Addr: "benchmark.other", RepeatMin: 4, RepeatMax: 12, Cells: []plan.Cell{cell("3b", "base")}},
		},
		Gates: []plan.Gate{
			{Addr: "gate.g", Benchmark: "benchmark.b", Metrics: []string{"ttft.p50", "tpot.p50"}, Comparisons: []plan.Comparison{
				{Base: "1b", Head: "1h", Values: []result.AxisValue{{Name: "rate", Value: "4"}}},
				{Base: "2b", Head: "2h", Values: []result.AxisValue{{Name: "rate", Value: "8"}}},
			}},
			{Addr: "gate.h", Benchmark: "benchmark.b"},
		},
	}
	f := Followed{Gate: "gate.g", Metric: "tpot.p50", Values: []result.AxisValue{{Name: "rate", Value: "8"}}}
	order := map[string]int{}
	for k := 1; k <= 40; k++ {
		out, err := ProbePlan(p, f, k)
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Gates) != 1 || len(out.Gates[0].Comparisons) != 1 || len(out.Gates[0].Metrics) != 1 || len(out.Benchmarks) != 1 ||
			len(out.Repeats) != 1 || out.Repeats[0].Index != 1 {
			t.Fatalf("%+v", out)
		}
		text := ""
		for _, l := range out.Repeats[0].Launches {
			text += strings.Replace(l.ID, fmt.Sprintf("pair%d-", k), "", 1) + " " + l.Runs[0].Cell + ", "
		}
		order[text]++
	}
	first, second := order["r1-base 2b, r1-head 2h, "], order["r1-head 2h, r1-base 2b, "]
	if first+second != 40 || first < 10 || second < 10 {
		t.Errorf("orders of 40 pairs: %v", order)
	}
	if len(p.Benchmarks[0].Cells) != 4 || p.Benchmarks[0].RepeatMax != 12 {
		t.Error("the plan was changed")
	}
	f.Values = nil
	if _, err := ProbePlan(p, f, 1); err == nil {
		t.Error("a cell that is not there is taken")
	}
}
