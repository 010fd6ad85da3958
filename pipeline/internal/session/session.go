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

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/lang/syntax"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/regular"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/process"
)

// Options of a session.
type Options struct {
	Config *lang.Config
	Plan   *plan.Plan
	// Dir is the folder of the pipeline file: relative folders in it are meant from here.
	Dir string
	// Out is the run directory; "" makes a new one below .pipeline/runs of the working directory.
	Out string
	// History is what stored baselines are taken from; nil is an empty one.
	History *history.History
	// Resume goes on with the run in Out.
	Resume    bool
	KeepGoing bool

	Engines map[string]steps.Engine
	Actions map[string]steps.Action
	// Formats are those that reports are written in.
	Formats reports.Formats
	// Self is the path of this program, which plays the simulated servers.
	Self string
	// Allow says which rights over the machine containers may get.
	Allow   docker.Allow
	Environ []string
	// Views are told every event, with secrets masked.
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
	// Publisher is told of the run; nil tells nobody.
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
	if err := supported(opt); err != nil {
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
	err = errors.Join(err, s.close())
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
	state   *engine.State // of the run to go on with
	journal *store.Journal
	bus     *event.Bus
	redact  *event.Redactor
	spawner *spawn.Spawner
	// containers is nil where no target runs in one.
	containers *containers
	hardware   hardware
	// machine of a session in virtual time, else nil.
	machine *virtualMachine
}

func open(opt Options) (*session, error) {
	s := &session{opt: opt, redact: opt.Redactor}
	if opt.Plan.Simulated == SimulateVirtual {
		s.machine = newVirtualMachine(opt.Now(), func(name string) (string, error) { return s.dir.Folder(name) })
		s.opt.Now = s.machine.Now
	}
	if s.redact == nil {
		s.redact = event.NewRedactor(opt.Config.Secrets())
	}
	opt.Redactor = s.redact
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
	s.bus = event.NewBus(s.opt.Now, after, s.journal)
	for _, view := range opt.Views {
		s.bus.Attach(masked{view, s.redact})
	}
	s.spawner = spawn.New(spawn.Options{Environ: opt.Environ, OnSpawn: engine.JournalSpawn(s.bus)})
	s.hardware = newHardware(opt)
	if s.containers, err = newContainers(opt, s.runID, slog.New(warnings{bus: s.bus})); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
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
		if s.machine != nil {
			s.machine.reach(s.state.Last)
		}
		return s.goOn()
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
	kept := map[string]bool{}
	for i, f := range s.opt.Config.Sources.Files {
		name := filepath.Base(f.Name)
		if f.Name == syntax.StdinName {
			name = "stdin.pipeline.hcl"
		}
		if kept[name] { // of another folder
			name = fmt.Sprintf("%d-%s", i+1, name)
		}
		kept[name] = true
		err = errors.Join(err, s.dir.WriteSource(name, f.Bytes))
	}
	return err
}

func (s *session) close() error {
	tunnels := s.containers.close()
	s.spawner.Close()
	s.hardware.spawner.Close()
	return errors.Join(s.journal.Close(), s.dir.Close(), tunnels)
}

func (s *session) run(ctx context.Context) (*result.Document, error) {
	s.bus.Start(s.opt.Version, s.runID)
	s.warnAll(s.publisher().Start(ctx))
	carryOut := s.carryOut
	if s.opt.Plan.Simulated == SimulateVirtual {
		carryOut = s.rehearse
	}
	outcome, more, err := carryOut(ctx)
	if err != nil {
		return nil, err
	}
	doc := engine.Document(s.opt.Plan, outcome, s.about())
	if s.opt.Plan.Simulated != "" {
		more = append(more, sizeNotes(s.opt)...)
	}
	doc.Warnings = slices.Concat(doc.Warnings, more)
	if err := Judge(s.opt.Config, s.opt.Plan, doc, s.opt.History); err != nil {
		return nil, err
	}
	if s.opt.InterruptCode != nil && doc.Status == result.StatusInterrupted {
		doc.ExitCode = cmp.Or(s.opt.InterruptCode(outcome.Cause), doc.ExitCode)
	}
	return doc, s.finish(ctx, doc)
}

// carryOut carries the plan out on this machine or its cluster, and returns what else is to
// be warned of.
func (s *session) carryOut(ctx context.Context) (*engine.Outcome, []string, error) {
	release, err := s.takeLock(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	releaseGPUs, err := s.lockGPUs(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer releaseGPUs()
	cluster, free, err := s.allocate(ctx)
	if err != nil {
		return nil, nil, err
	}
	launcher := process.New(s.spawner, process.Options{Folder: s.dir.Folder})
	resolved := targets{s.opt, launcher, s.containers, cluster, s.dir.Folder}
	outcome, err := engine.Run(ctx, engine.Options{
		Plan: s.opt.Plan, Store: s.dir, Bus: s.bus,
		Target: resolved.resolve, Lane: resolved.lanes(),
		Step:  s.step,
		Ports: launcher.Ports(),
		Env:   steps.ActionEnv{Spawner: s.spawner, Dir: s.opt.Dir},
		Cache: s.cache(),
		Probe: func(ctx context.Context) map[string]string { return cluster.about(Machine(ctx, s.spawner), s.opt) },

		NICs:       s.nics(ctx),
		Front:      s.opt.Front,
		Load:       s.load,
		Look:       s.look,
		Preflight:  s.preflight,
		Machine:    s.watcher(),
		Drive:      s.drive,
		KillOrphan: spawn.KillOrphan, Now: s.opt.Now, Redact: s.redact, KeepGoing: s.opt.KeepGoing, Resume: s.state,
	})
	free()
	if err := s.containers.close(); err != nil { // before what is left counts as astray
		s.caution(err.Error())
	}
	return outcome, endStrays(), err
}

func (s *session) about() engine.About {
	return engine.About{Tool: "pipeline " + s.opt.Version, RunID: s.runID}
}

// load carries out one run of a workload, with the pipeline's access to files.
func (s *session) load(ctx context.Context, opt load.Options) (load.Result, error) {
	opt.Files = s.opt.Config.Files
	return load.Run(ctx, opt)
}

// look judges what was measured so far.
func (s *session) look(so *engine.Outcome) (judge.Look, error) {
	return judge.TakeLook(s.opt.Plan, engine.Document(s.opt.Plan, so, s.about()), judging(s.opt.Config, s.opt.Plan, s.opt.History))
}

// preflight sees whether the machine has what the plan needs.
func (s *session) preflight(ctx context.Context) error {
	if err := s.prepareContainers(ctx); err != nil {
		return err
	}
	return s.examine(ctx)
}

// prepareContainers sees whether the daemon that containers need is there, and removes
// what an interrupted run has left.
func (s *session) prepareContainers(ctx context.Context) error {
	if s.containers == nil {
		return nil
	}
	if err := s.containers.preflight(ctx, s.opt, s.spawner); err != nil {
		return err
	}
	if s.state == nil {
		return s.warnOfLeft(ctx)
	}
	removed, err := s.containers.removeLeft(ctx, s.runID)
	for _, l := range removed {
		s.bus.Emit(event.Event{Type: event.Diagnostic, Severity: "warning", Text: fmt.Sprintf("%s %s, left by the interrupted run, was removed", l.Kind, l.Name)})
	}
	return err
}

// warnOfLeft tells of containers that killed runs have left: they may hold GPUs.
func (s *session) warnOfLeft(ctx context.Context) error {
	left, err := s.containers.left(ctx, s.opt.Now())
	if len(left) > 0 {
		text := fmt.Sprintf("killed runs have left %d containers, networks and volumes, for example %s; `pipeline cleanup` removes them", len(left), left[0].Name)
		s.bus.Emit(event.Event{Type: event.Diagnostic, Severity: "warning", Text: text})
	}
	return err
}

// finish writes results and reports and tells the views.
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

func (s *session) step(addr string, outputs engine.Outputs) (engine.StepSpec, error) {
	object, diags := s.opt.Config.ResolveStep(addr, outputs)
	if diags.HasErrors() {
		return engine.StepSpec{}, diags
	}
	for _, st := range s.opt.Config.Steps {
		if st.Addr == addr {
			if action, ok := s.opt.Actions[st.Kind.Name]; ok {
				return engine.StepSpec{Action: action, Object: object}, nil
			}
		}
	}
	return engine.StepSpec{}, steps.Unsupported(addr, "no action is registered for this kind of step")
}

// cache of steps with a cache key: in the user's cache folder, so that runs share it. A
// machine without one runs every step.
func (s *session) cache() *store.Cache {
	base, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	c, err := store.OpenCache(filepath.Join(base, "pipeline", "steps"))
	if err != nil {
		return nil
	}
	return c
}

// Judge brings a document before the gates of a configuration. past is what stored
// baselines are taken from, nil for nothing.
func Judge(cfg *lang.Config, p *plan.Plan, doc *result.Document, past *history.History) error {
	return judge.Judge(p, doc, judging(cfg, p, past))
}

func judging(cfg *lang.Config, p *plan.Plan, past *history.History) judge.Options {
	return judge.Options{Assert: asserter{cfg}.eval, Baseline: baselines(p), History: past}
}

// ReadDocument reads a results file, or the one of a run directory.
func ReadDocument(path string) (*result.Document, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, store.ResultsFile)
	}
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading
	doc, err := result.Decode(f, result.Limits{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return doc, nil
}
