package session

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/place/virtual"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/vllm"
)

// published notes what a publisher is told.
type published struct{ told []string }

func (p *published) Start(context.Context) []string { p.told = append(p.told, "start"); return nil }
func (p *published) Finish(context.Context, *result.Document) []string {
	p.told = append(p.told, "finish")
	return nil
}
func (p *published) Abort(_ context.Context, err error) []string {
	p.told = append(p.told, "abort: "+err.Error())
	return nil
}

// profileOptions plans examples/profile in virtual time, with changes to its text.
func profileOptions(t *testing.T, changes ...string) Options {
	t.Helper()
	text, err := os.ReadFile("../../../examples/profile/profile.pipeline.hcl")
	if err != nil {
		t.Fatal(err)
	}
	changes = append(changes, "= 200", "= 32", "input_len  = 512", "input_len  = 32", "= 128", "= 64", "max = 8", "max = 4") // less to do
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(string(text), changes[i]) {
			t.Fatalf("the example has no %q", changes[i])
		}
	}
	file := filepath.Join(t.TempDir(), "profile.pipeline.hcl")
	if err := os.WriteFile(file, []byte(strings.NewReplacer(changes...).Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	registry, err := steps.NewRegistry(append(dataset.All().Blocks(), vllm.Kind())...)
	if err != nil {
		t.Fatal(err)
	}
	cfg, diags := lang.Load(lang.Options{Paths: []string{file}, Registry: registry, Formats: reports.AllFormats().Names(),
		Env: func() []string { return nil }})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p, diags := plan.Build(cfg.Config, plan.Options{File: "profile", Simulated: plan.SimulateVirtual, TimeScale: 1})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	now := time.Unix(1_800_000_000, 0)
	return Options{
		Plan: p, Out: filepath.Join(t.TempDir(), "run"), Engines: map[string]steps.Engine{"vllm": vllm.New()}, Formats: reports.AllFormats(),
		Places: []place.Kind{virtual.Kind()}, Self: "pipeline", Now: func() time.Time { return now }, Random: rand.Reader,
	}
}

// live carries out the steps of a run and returns the names of those that had something to do. The
// step named broken fails after it has done its part.
func live(t *testing.T, ctx context.Context, opt Options, broken string) (s *session, names []string) {
	t.Helper()
	list := life()
	for i := range list {
		one := list[i]
		list[i].do = func(s *session, ctx context.Context) error {
			names = append(names, one.name)
			err := one.do(s, ctx)
			if one.name == broken {
				err = errors.Join(err, errors.New(broken+" is broken"))
			}
			return err
		}
	}
	s = newSession(opt)
	s.carryOut(ctx, list)
	return s, names
}

// TestLifeOfARun: in virtual time a run has nothing to lock, open or close.
func TestLifeOfARun(t *testing.T) {
	whole := "check, create, assemble, publish the start, prepare, measure, end the measurement, document, judge, find a regression, " +
		"profile, add notes, mask, show gates, write, publish, summarize, close"
	without := func(steps ...string) string {
		return strings.Join(slices.DeleteFunc(strings.Split(whole, ", "), func(name string) bool { return slices.Contains(steps, name) }), ", ")
	}
	for _, tt := range []struct {
		name    string
		changes []string
		publish bool
		want    string
	}{
		{"a regression", nil, true, whole},
		{"no regression", []string{`"8%"`, `"0%"`}, true, without("profile")},
		{"no profile, no publisher", []string{`window   = "3s"`, `enabled  = false`}, false, without("find a regression", "profile",
			"publish the start", "publish")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opt := profileOptions(t, tt.changes...)
			if tt.publish {
				opt.Publisher = &published{}
			}
			s, names := live(t, t.Context(), opt, "")
			if got := strings.Join(names, ", "); got != tt.want || s.err != nil {
				t.Errorf("error %v, steps\n%s, want\n%s", s.err, got, tt.want)
			}
		})
	}
}

// TestEachStepMayFail: after a failure nothing is done but to publish how the run ended and to close
// what is open. A verdict that was reached is published whatever fails after it.
func TestEachStepMayFail(t *testing.T) {
	for _, tt := range []struct{ broken, after, told string }{
		{"check", "close", ""},
		{"create", "close", ""},
		{"assemble", "close", ""},
		{"publish the start", "publish the failure, close", "start, abort: publish the start is broken"},
		{"prepare", "publish the failure, close", "start, abort: prepare is broken"},
		{"end the measurement", "publish the failure, close", "start, abort: end the measurement is broken"},
		{"document", "publish the failure, close", "start, abort: document is broken"},
		{"judge", "mask, publish, summarize, close", "start, finish"},
		{"write", "publish, summarize, close", "start, finish"},
		{"publish", "summarize, close", "start, finish"},
		{"close", "", "start, finish"},
	} {
		t.Run(tt.broken, func(t *testing.T) {
			pub := &published{}
			opt := profileOptions(t, `window   = "3s"`, `enabled  = false`)
			opt.Publisher = pub
			s, names := live(t, t.Context(), opt, tt.broken)
			if s.err == nil || s.err.Error() != tt.broken+" is broken" {
				t.Errorf("error %v", s.err)
			}
			after := strings.Join(names[slices.Index(names, tt.broken)+1:], ", ")
			if told := strings.Join(pub.told, ", "); after != tt.after || told != tt.told {
				t.Errorf("steps after the failure: %s, want %s\npublished: %s, want %s", after, tt.after, told, tt.told)
			}
		})
	}
}

// blocking makes a folder once the run has begun.
type blocking struct {
	*published
	folder string
}

func (b blocking) Start(context.Context) []string {
	if err := os.MkdirAll(b.folder, 0o700); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// TestResultThatCannotBeWritten: what was measured is not lost with the document, and the error says so.
func TestResultThatCannotBeWritten(t *testing.T) {
	opt := profileOptions(t, `window   = "3s"`, `enabled  = false`)
	opt.Publisher = blocking{&published{}, filepath.Join(opt.Out, "results.json", "taken")}
	s, _ := live(t, t.Context(), opt, "")
	if s.err == nil || !strings.Contains(s.err.Error(), "with --resume --out "+opt.Out) {
		t.Errorf("error %v", s.err)
	}
}

// summaries holds the exit statuses of the summaries of a run.
type summaries struct{ codes []int }

func (s *summaries) Handle(e event.Event) {
	if e.Type == event.Summary {
		s.codes = append(s.codes, *e.ExitCode)
	}
}

// TestSummaryOfALostJournal: a run whose journal cannot be written ends as it says, and says once why.
func TestSummaryOfALostJournal(t *testing.T) {
	s := newSession(profileOptions(t, `window   = "3s"`, `enabled  = false`))
	told := &summaries{}
	lose := step{name: "lose the journal", do: func(s *session, _ context.Context) error {
		s.bus.Attach(told)
		return s.journal.Close()
	}}
	list := life()
	at := slices.IndexFunc(list, func(one step) bool { return one.name == "mask" })
	s.carryOut(t.Context(), slices.Insert(list, at, lose))
	if !slices.Equal(told.codes, []int{result.ExitInfrastructure}) {
		t.Errorf("the summaries have the exit statuses %v, want %d", told.codes, result.ExitInfrastructure)
	}
	if s.err == nil || strings.Count(s.err.Error(), "write the journal") != 1 {
		t.Errorf("error %v, want the journal once", s.err)
	}
}

// closed is a place that cannot be opened.
type closed struct{ place.Base }

func (closed) Open(context.Context) error { return errors.New("the queue is full") }

func (closed) GPUs(place.Target, place.Process) place.GPUs { return place.GPUs{} }

func (closed) Assign(place.Target, place.Process, []string) (place.Slot, error) {
	return place.Slot{}, nil
}

// TestAPlaceThatCannotBeOpened: the locks are given back, and what was measured is said to have failed.
func TestAPlaceThatCannotBeOpened(t *testing.T) {
	opt := profileOptions(t)
	opt.Plan.Simulated, opt.Publisher = "process", &published{}
	opt.Places = []place.Kind{{
		Name: "closed", Takes: func(place.Options, place.Process) bool { return true },
		New: func(place.Options) (place.Place, error) { return closed{}, nil },
	}}
	s, names := live(t, t.Context(), opt, "")
	if s.err == nil || s.err.Error() != "the queue is full" || s.judged {
		t.Errorf("error %v", s.err)
	}
	if got := strings.Join(names,
		", "); got != "check, create, assemble, publish the start, lock, open places, unlock, publish the failure, close" {
		t.Errorf("steps %s", got)
	}
}

// TestAnInterruptedRunIsNotProfiled, and is judged and published like any other.
func TestAnInterruptedRunIsNotProfiled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupt"))
	pub := &published{}
	opt := profileOptions(t)
	opt.Publisher = pub
	s, names := live(t, ctx, opt, "")
	if s.err != nil || s.doc.Status != result.StatusInterrupted || slices.Contains(names, "find a regression") {
		t.Errorf("error %v, %+v, steps %v", s.err, s.doc, names)
	}
	if told := strings.Join(pub.told, ", "); told != "start, finish" {
		t.Errorf("published: %s", told)
	}
}
