package bisect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/servegate/pipeline/gates/culprit"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/bisection"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// Session is a measurement to run: the values of the good end and a candidate, the change to the file's plan,
// and the run directory, which may contain an interrupted session.
type Session struct {
	Good, Candidate map[string]string
	Plan            func(*plan.Plan) (*plan.Plan, error)
	Out             string
}

// Search runs until it has an answer or its budget is spent.
type Search struct {
	State   State
	Folder  *Folder
	Builder *Builder
	// Measure runs a session. It returns an incomplete document without an error.
	Measure func(context.Context, Session) (*result.Document, error)
	// MaxLaunches limits the launches, and Until is the latest start of a probe; zero means no limit.
	MaxLaunches int
	Until       time.Time
	Now         func() time.Time
	// Say reports progress, one line at a time.
	Say func(string)
}

// ErrInterrupted means that a search was interrupted and can resume.
var ErrInterrupted = errors.New("the search did not end")

// Found is the result of a search so far.
type Found struct {
	Ends     *Ends
	Probes   []Probe
	Unusable []Unusable
	Launches int
	// Posterior and Answer are empty if the ends do not differ.
	Posterior *culprit.Posterior
	Answer    culprit.Answer
}

// Run runs the search.
func (s *Search) Run(ctx context.Context) (*Found, error) {
	for before := (*Found)(nil); ; {
		f, err := s.found()
		if err != nil {
			return nil, err
		}
		if before != nil && len(f.Probes) > len(before.Probes) {
			s.say(f)
		}
		before = f
		switch {
		case f.Ends == nil:
			err = s.ends(ctx)
		case f.Ends.Followed == nil || f.Answer.Done || s.spent(f):
			return f, nil
		default:
			err = s.probe(ctx, f)
		}
		if err != nil {
			return f, err
		}
	}
}

// found summarises the journal.
func (s *Search) found() (*Found, error) {
	f := &Found{}
	for _, e := range s.Folder.entries {
		switch {
		case e.Ends != nil:
			f.Ends = e.Ends
			f.Launches += e.Ends.Launches
		case e.Probe != nil:
			f.Probes = append(f.Probes, *e.Probe)
			f.Launches += e.Probe.Launches
		case e.Unusable != nil:
			f.Unusable = append(f.Unusable, *e.Unusable)
			f.Launches += e.Unusable.Launches
		}
	}
	if f.Ends == nil || f.Ends.Followed == nil {
		return f, nil
	}
	var err error
	if f.Posterior, err = s.evidence(f).Posterior(); err != nil {
		return nil, err
	}
	f.Answer = f.Posterior.Answer(s.State.Confidence)
	return f, nil
}

func (s *Search) evidence(f *Found) culprit.Evidence {
	last := len(s.State.Candidates) - 1
	e := culprit.Evidence{Candidates: last, Rounding: rounding}
	for _, d := range f.Ends.D {
		e.Probes = append(e.Probes, culprit.Probe{Candidate: last, D: d})
	}
	for _, p := range f.Probes {
		e.Probes = append(e.Probes, culprit.Probe{Candidate: p.Candidate, D: p.D})
	}
	for _, u := range f.Unusable {
		e.Unusable = append(e.Unusable, u.Candidate)
	}
	return e
}

// spent reports whether the budget does not allow another pair.
func (s *Search) spent(f *Found) bool {
	return s.MaxLaunches > 0 && f.Launches+2 > s.MaxLaunches || !s.Until.IsZero() && s.Now().After(s.Until)
}

// ends compares the ends with the file's gates.
func (s *Search) ends(ctx context.Context) error {
	last := len(s.State.Candidates) - 1
	s.Say(fmt.Sprintf("%s; first the ends: %s against %s", humanize.Count(last, "candidate"), s.State.Candidates[last].Short(),
		s.State.Candidates[0].Short()))
	doc, out, err := s.measure(ctx, last, func(p *plan.Plan) (*plan.Plan, error) { return p, nil })
	if err != nil {
		if unbuildable, ok := errors.AsType[*UnbuildableError](err); ok {
			return fmt.Errorf("the bad end cannot be built, so that there is nothing to compare with: choose another: %w", unbuildable.Err)
		}
		return err
	}
	if doc.Status != result.StatusComplete {
		return fmt.Errorf("the ends could not be compared: the session is %s: %s", doc.Status, doc.StatusReason)
	}
	e, err := endsOf(doc)
	if err != nil {
		return err
	}
	e.Run = out
	s.Say(fmt.Sprintf("the ends: %s, after %d launches", e.Verdict, e.Launches))
	return s.Folder.add(entry{Ends: e})
}

// probe measures one pair at the most informative candidate.
func (s *Search) probe(ctx context.Context, f *Found) error {
	at := f.Answer.Next
	c, pair := s.State.Candidates[at], len(f.Probes)+1
	doc, out, err := s.measure(ctx, at, func(p *plan.Plan) (*plan.Plan, error) { return ProbePlan(p, *f.Ends.Followed, pair) })
	if unbuildable, ok := errors.AsType[*UnbuildableError](err); ok {
		if at == len(s.State.Candidates)-1 {
			return unbuildable.Err
		}
		s.Say("skipped: " + unbuildable.Error())
		return s.Folder.add(entry{Unusable: &Unusable{Candidate: at, Reason: unbuildable.Error()}})
	}
	if err != nil {
		return err
	}
	d, err := pairOf(doc, *f.Ends.Followed)
	if errors.Is(err, errCandidate) && at < len(s.State.Candidates)-1 {
		s.Say(fmt.Sprintf("skipped: %s: %v", c.Short(), err))
		return s.Folder.add(entry{Unusable: &Unusable{Candidate: at, Reason: err.Error(), Launches: len(doc.Launches)}})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.Short(), err)
	}
	return s.Folder.add(entry{Probe: &Probe{Candidate: at, D: d, Launches: len(doc.Launches), Run: out}})
}

// say reports the progress after the last probe.
func (s *Search) say(f *Found) {
	n := len(f.Probes)
	last := f.Probes[n-1]
	m := f.Ends.Followed.metric()
	r := f.Posterior.Rest(s.State.Confidence)
	s.Say(fmt.Sprintf("pair %d at %s: %s; left with %.0f %%: %d of %d candidates", n, s.State.Candidates[last.Candidate].Short(),
		bisection.Change(change(m, last.D), unitOf(m)), 100*s.State.Confidence, r.Bad-r.Good, len(s.State.Candidates)-1))
}

// measure builds both sides and runs a session.
func (s *Search) measure(ctx context.Context, at int, cut func(*plan.Plan) (*plan.Plan, error)) (*result.Document, string, error) {
	good := s.State.Candidates[0]
	base, err := s.Builder.Values(ctx, good, good)
	if err != nil {
		if unbuildable, ok := errors.AsType[*UnbuildableError](err); ok {
			err = fmt.Errorf("the good end cannot be built, so that there is nothing to compare with: choose another: %w", unbuildable.Err)
		}
		return nil, "", s.interruption(ctx, err)
	}
	head, err := s.Builder.Values(ctx, s.State.Candidates[at], good)
	if err != nil {
		return nil, "", s.interruption(ctx, err)
	}
	out := s.Folder.run()
	doc, err := s.Measure(ctx, Session{Good: base, Candidate: head, Plan: cut, Out: out})
	if err == nil && doc.Status == result.StatusInterrupted {
		err = fmt.Errorf("%w: %s", ErrInterrupted, doc.StatusReason)
	}
	return doc, out, s.interruption(ctx, err)
}

// interruption wraps an error caused by the end of ctx.
func (s *Search) interruption(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && !errors.Is(err, ErrInterrupted) {
		return fmt.Errorf("%w: %w", ErrInterrupted, err)
	}
	return err
}
