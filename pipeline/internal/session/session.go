// Package session takes a planned pipeline from its first launch to its reports: it
// opens the run directory, wires the engine to launchers, journal and views, has the
// result judged and writes the reports.
//
// It decides nothing itself: the order of things is the plan's, what to do about
// failures the engine's, the verdict the gates'.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/answers"
	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/lang/syntax"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/pipeline/internal/target"
	"github.com/servegate/pipeline/pipeline/internal/verdict"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker"
	"github.com/servegate/pipeline/steps/kv"
)

// Options of a session.
type Options struct {
	Config *lang.Config
	Plan   *plan.Plan
	// Dir is the folder of the pipeline file: relative folders in it are meant from here.
	Dir string
	// Out is the run directory; "" makes a new one below .pipeline/runs of the working directory.
	Out string
	// Source is the code that is measured, nil where it is not known.
	Source *result.Source
	// History is what stored baselines are taken from; nil is an empty one.
	History *history.History
	// Resume goes on with the run in Out.
	Resume    bool
	KeepGoing bool

	Engines map[string]steps.Engine
	// Connectors of KV caches; nil means all.
	Connectors kv.Table
	Actions    map[string]steps.Action
	// Tools are the load generators whose results drivers leave; nil means all.
	Tools convert.Tools
	// Formats are those that reports are written in.
	Formats reports.Formats
	// Places are the kinds of places that processes run in, in the order in which they are
	// asked.
	Places []place.Kind
	// Self is the path of this program, which plays the simulated servers.
	Self string
	// Allow says which rights over the machine containers may get.
	Allow   docker.Allow
	Environ []string
	// Views receive every event, with secrets masked.
	Views   []event.Handler
	Version string // of this program
	Now     func() time.Time
	Random  io.Reader // for the run's id
	// Front gives the address that the load of a planned repeat is sent to in place of a
	// server's own, and what ends it; nil means the server's own.
	Front func(repeat int, baseURL string) (url string, stop func() error, err error)
	// InterruptCode is the exit code when a cause ended the session, 0 if it is not an
	// interruption.
	InterruptCode func(cause error) int
	// Summary is the file of the runner's step summary, "" for none.
	Summary string
	// Publisher publishes the run; nil publishes nothing.
	Publisher Publisher
	// Redactor masks the pipeline's secrets, and whatever else is one on this machine; nil
	// masks those of the pipeline.
	Redactor *event.Redactor
}

// Result of a session.
type Result struct {
	Document *result.Document
	// Dir is the run directory.
	Dir string
}

// Run carries the session out. A *engine.ConfigError means that the file is at fault.
// Everything that servers and machine do is in the document. An error beside a result
// means that the result or the journal could not be written; reports that could not are
// warnings.
func Run(ctx context.Context, opt Options) (*Result, error) {
	if err := check(opt); err != nil {
		return nil, err
	}
	s, err := open(opt)
	if err != nil {
		return nil, err
	}
	doc, err := s.run(ctx)
	if doc == nil {
		s.warnAll(s.publisher().Abort(ctx, err))
	}
	err = errors.Join(err, s.close(ctx))
	if doc == nil {
		return nil, err
	}
	return &Result{Document: doc, Dir: s.dir.Path()}, err
}

// session is an open run directory with everything that writes into it.
type session struct {
	opt     Options
	runID   string
	dir     *store.Dir
	source  *result.Source // of the whole run, nil where it is not known
	state   *engine.State  // of the run to go on with
	journal *store.Journal
	bus     *event.Bus
	redact  *event.Redactor
	spawner *spawn.Spawner
	machine hardware
	targets target.Resolver
	// profiled is the profile of a regression, nil where none was made.
	profiled *result.Profile
	// now is the clock of the run: that of the model where it is carried out in one.
	now func() time.Time
}

func open(opt Options) (*session, error) {
	s := &session{opt: opt, redact: opt.Redactor, now: opt.Now}
	if s.redact == nil {
		s.redact = event.NewRedactor(opt.Config.Secrets())
	}
	if err := s.openDir(); err != nil {
		return nil, err
	}
	var err error
	if s.journal, err = s.dir.Journal(); err != nil {
		return nil, errors.Join(err, s.dir.Close())
	}
	after := 0
	if s.state != nil {
		after = s.state.Seq
	}
	s.bus = event.NewBus(func() time.Time { return s.now() }, after, s.journal)
	for _, view := range opt.Views {
		s.bus.Attach(masked{view, s.redact})
	}
	s.spawner = spawn.New(spawn.Options{Environ: opt.Environ, OnSpawn: engine.JournalSpawn(s.bus, spawn.Owner())})
	if s.targets, err = s.resolver(); err != nil {
		return nil, errors.Join(err, s.journal.Close(), s.dir.Close())
	}
	s.machine = newHardware(opt, s.targets)
	if m := s.targets.Places.Model(); m != nil {
		s.now = m.Now
		if s.state != nil {
			m.AdvanceTo(s.state.Last)
		}
	}
	return s, nil
}

// resolver resolves the plan's targets in the places of this session.
func (s *session) resolver() (target.Resolver, error) {
	return resolver(s.opt, place.Options{
		RunID: s.runID, Resumed: s.state != nil, Redact: s.redact, Spawner: s.spawner,
		Folder: func(name string) (string, error) { return s.dir.Folder(name) },
		Info:   s.info, Warn: s.warn, Log: slog.New(warnings{bus: s.bus}),
	})
}

// resolver completes the options of places by those of a session, and makes the places that
// its plan needs.
func resolver(opt Options, at place.Options) (target.Resolver, error) {
	at.Config, at.Plan, at.Dir, at.Self, at.Version = opt.Config, opt.Plan, opt.Dir, opt.Self, opt.Version
	at.Environ, at.Now, at.Allow, at.Connectors = opt.Environ, opt.Now, opt.Allow, opt.Connectors
	r := target.Resolver{
		Config: opt.Config, Plan: opt.Plan, Engines: opt.Engines, Connectors: opt.Connectors, Dir: opt.Dir,
		Places: place.NewSet(opt.Places, at), Folder: at.Folder,
	}
	return r, r.Places.Prepare(r.Planned())
}

func (s *session) openDir() (err error) {
	if s.opt.Resume {
		if s.dir, err = store.Resume(s.opt.Out, s.redact); err != nil {
			return err
		}
		if s.state, err = engine.LoadState(s.dir); err != nil {
			return errors.Join(err, s.dir.Close())
		}
		s.runID = s.state.RunID
		if err := s.resumeSource(); err != nil {
			return errors.Join(err, s.dir.Close())
		}
		return s.resumePlan()
	}
	if s.runID, err = store.RunID(s.opt.Now(), s.opt.Random); err != nil {
		return err
	}
	path := s.opt.Out
	if path == "" {
		path = store.DefaultPath(".", s.runID)
	}
	if s.dir, err = store.Create(path, s.redact); err != nil {
		return err
	}
	if s.opt.Out == "" {
		err = store.LinkLatest(".", s.runID)
	}
	if err = errors.Join(err, s.keepInputs()); err != nil {
		return errors.Join(err, s.dir.Close())
	}
	return nil
}

// keepInputs copies the plan and the file's sources into the run directory, from which
// `pipeline gate` can judge again.
func (s *session) keepInputs() error {
	err := s.dir.WriteJSON(store.PlanFile, s.opt.Plan)
	if s.source = s.opt.Source; s.source != nil {
		err = errors.Join(err, s.dir.WriteJSON(store.CheckoutFile, s.source))
	}
	kept := map[string]bool{}
	for i, f := range s.opt.Config.Sources.Files {
		name := filepath.Base(f.Name)
		if f.Name == syntax.StdinName {
			name = "stdin.pipeline.hcl"
			if f.JSON != nil {
				name = "stdin.pipeline.json"
			}
		}
		if kept[name] { // of another folder
			name = fmt.Sprintf("%d-%s", i+1, name)
		}
		kept[name] = true
		err = errors.Join(err, s.dir.WriteSource(name, f.Bytes))
	}
	for name, text := range s.opt.Config.Read {
		err = errors.Join(err, s.dir.WriteBeside(name, []byte(text)))
	}
	return err
}

func (s *session) close(ctx context.Context) error {
	places := s.targets.Places.Close(ctx)
	s.spawner.Close()
	s.machine.spawner.Close()
	return errors.Join(s.journal.Close(), s.dir.Close(), places)
}

// run is the session as a list: measure, document, judge, write, publish.
func (s *session) run(ctx context.Context) (*result.Document, error) {
	s.bus.Start(s.opt.Version, s.runID)
	s.warnAll(s.publisher().Start(ctx))
	outcome, notes, err := s.measure(ctx)
	if err != nil {
		return nil, err
	}
	doc := engine.Document(s.opt.Plan, outcome, s.about())
	answers.Quote(doc, func(path string) (io.ReadCloser, error) { return os.Open(filepath.Join(s.dir.Path(), path)) })
	if s.opt.Plan.Simulated != "" {
		notes = append(notes, s.targets.SizeNotes()...)
	}
	doc.Warnings = slices.Concat(doc.Warnings, notes)
	if err := verdict.Judge(s.opt.Config, s.opt.Plan, doc, s.opt.History); err != nil {
		return nil, err
	}
	doc.Profile = s.profiled
	if s.opt.InterruptCode != nil && doc.Status == result.StatusInterrupted {
		doc.ExitCode = cmp.Or(s.opt.InterruptCode(outcome.Cause), doc.ExitCode)
	}
	return doc, s.finish(ctx, doc)
}

// finish writes results and reports and informs the views.
func (s *session) finish(ctx context.Context, doc *result.Document) error {
	// Before anything is rendered: a report escapes texts in ways of its own.
	s.redact.Value(doc)
	for i := range doc.Gates {
		g := &doc.Gates[i]
		s.bus.Emit(event.Event{Type: event.GateResult, Addr: g.Addr, Gate: g, Verdict: g.Verdict, Range: &g.Range})
	}
	written, missed, err := s.write(doc)
	s.warnAll(missed)
	for _, path := range written {
		s.bus.Emit(event.Event{Type: event.ReportDone, Path: path})
	}
	s.warnAll(s.publisher().Finish(ctx, doc))
	code := doc.ExitCode
	if err != nil {
		code = result.ExitInfrastructure
	}
	s.bus.Emit(event.Event{Type: event.Summary, Verdict: doc.Verdict, ExitCode: &code, Text: doc.StatusReason})
	return errors.Join(err, s.bus.Err())
}
