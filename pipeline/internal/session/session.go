// Package session runs a planned pipeline from its first launch to its reports. [Run] is the list of the steps
// of a run. Each step states when it is skipped.
//
// It decides nothing itself: the plan orders the measurements, the engine handles failures, and the gates give
// the verdict.
package session

import (
	"context"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/pipeline/internal/target"
	"github.com/servegate/pipeline/reports/result"
)

// Run runs the session. A *engine.ConfigError means that the file is wrong. Failures of servers and machines
// are in the document. An error together with a result means that the result or the journal could not be
// written; failures of reports are warnings.
func Run(ctx context.Context, opt Options) (*Result, error) {
	s := newSession(opt)
	s.carryOut(ctx, life())
	if s.unjudged() {
		return nil, s.err
	}
	return &Result{Document: s.doc, Dir: s.dir.Path()}, s.err
}

// life lists the steps of a run. A failed step ends the run, except for steps with always set.
func life() []step {
	return []step{
		{name: "check", do: (*session).check},
		{name: "create", skip: (*session).resumes, do: (*session).create},
		{name: "resume", skip: (*session).begins, do: (*session).resume},
		{name: "assemble", do: (*session).assemble},
		{name: "publish the start", skip: (*session).unpublished, do: (*session).publishStart},

		{name: "lock", skip: (*session).modelled, do: (*session).lock},
		{name: "open places", skip: (*session).modelled, do: (*session).openPlaces},
		{name: "prepare", do: (*session).prepare},
		repeat(
			step{name: "measure", do: (*session).measure},
			step{name: "look", skip: (*session).noLookDue, do: (*session).look},
		),
		{name: "end the measurement", do: (*session).endMeasurement},
		{name: "document", do: (*session).document},
		{name: "judge", do: (*session).judge},
		{name: "find a regression", skip: (*session).notProfiled, do: (*session).findRegression},
		{name: "profile", skip: (*session).noRegression, do: (*session).profile},
		{name: "close places", always: true, skip: (*session).unopened, do: (*session).closePlaces},
		{name: "end strays", always: true, skip: (*session).unopened, do: (*session).endStrays},
		{name: "unlock", always: true, skip: (*session).unlocked, do: (*session).unlock},

		{name: "add notes", do: (*session).addNotes},
		{name: "mask", always: true, skip: (*session).unjudged, do: (*session).mask},
		{name: "show gates", do: (*session).showGates},
		{name: "write", do: (*session).write},
		{name: "publish", always: true, skip: (*session).noVerdictToPublish, do: (*session).publish},
		{name: "publish the failure", always: true, skip: (*session).noFailureToPublish, do: (*session).publishFailure},
		{name: "summarize", always: true, skip: (*session).unjudged, do: (*session).summarize},
		{name: "close", always: true, do: (*session).close},
	}
}

// session holds what the steps of a run pass to each other. Each step adds its part.
type session struct {
	opt    Options
	redact *event.Redactor
	// now is the clock of the run; in a model, the model's clock.
	now func() time.Time
	// err joins the errors of failed steps.
	err error

	// From create or resume.
	dir    *store.Dir
	runID  string
	source *result.Source // of the whole run, nil if unknown
	// earlier is the outcome of the run to resume.
	earlier *engine.Outcome

	// From assemble.
	journal *store.Journal
	bus     *event.Bus
	spawner *spawn.Spawner
	targets target.Resolver
	machine hardware

	published bool   // the start of the run
	locked    func() // releases the locks, nil without locks
	opened    bool   // the places

	// From prepare and measure.
	engine      engine.Options
	measurement *engine.Measurement
	lookDue     bool
	outcome     *engine.Outcome
	strays      []string // warnings about processes ended after the measurement

	doc        *result.Document
	judged     bool
	regression *regression // to profile, nil without one
}

func newSession(opt Options) *session {
	s := &session{opt: opt, redact: opt.Redactor, now: opt.Now}
	if s.redact == nil {
		s.redact = event.NewRedactor(opt.Plan.Config.Secrets)
	}
	return s
}
