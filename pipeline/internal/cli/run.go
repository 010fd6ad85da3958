package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/pipeline/internal/target"
	"github.com/servegate/pipeline/pipeline/internal/ui"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/term"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker"
	"github.com/spf13/cobra"
)

// planFlags selects the parts of a pipeline to plan.
type planFlags struct {
	only      []string
	repeat    int
	simulate  string // "", "process", "container" or "virtual"
	timeScale float64
	// ignoreNoise also plans gates that are known to be too noisy.
	ignoreNoise bool
	// allowIdentical also plans comparisons of a server with itself.
	allowIdentical bool
	// attempt is the number of the attempt at the same change.
	attempt int
	// noise looks up the known spread of cells; it has no flag.
	noise func(cell, metric string) (plan.Noise, bool)
	// calibration resolves a variance block; it has no flag.
	calibration func(spec *config.Variance, cells []string) (*plan.Calibration, string, error)
	// anySimulation counts differences in simulate blocks even if nothing is simulated; it has no flag.
	anySimulation bool
	// launchTime looks up the known duration of launches; it has no flag.
	launchTime func(cells []string) float64
	// notes are warnings of the plan; they have no flag.
	notes []string
}

func (f *planFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.only, "only", nil,
		"keep only the cells that match this `pattern`: benchmark, axis=value, or a whole label (repeatable)")
	cmd.Flags().Var(bounded{&f.repeat, 1, config.MaxRepeats}, "repeat", "`number` of repeats, instead of the file's")
	simulateFlag(cmd, &f.simulate)
	cmd.Flags().BoolVar(&f.ignoreNoise, "ignore-noise", false, "go on with gates whose known noise is above their margin")
	allowIdenticalFlag(cmd, &f.allowIdentical)
	cmd.Flags().Float64Var(&f.timeScale, "time-scale", 1, "with --simulate: run the model and the schedule this many times faster")
}

func simulateFlag(cmd *cobra.Command, simulate *string) {
	enumFlag(cmd, simulate, "simulate", "", []option[string]{
		{name: plan.SimulateProcess, value: plan.SimulateProcess},
		{plan.SimulateContainer, plan.SimulateContainer, "needs a Docker daemon"},
		{plan.SimulateVirtual, plan.SimulateVirtual, "its model alone, in seconds"},
	}, "replace every server by a simulated one of this `kind`")
	cmd.Flags().Lookup("simulate").NoOptDefVal = plan.SimulateProcess
}

func allowIdenticalFlag(cmd *cobra.Command, allow *bool) {
	cmd.Flags().BoolVar(allow, "allow-identical", false,
		"go on where the sides of a comparison are the same server with the same work: an A/A run")
}

// plan makes the plan of a configuration and prints its diagnostics.
func (a *app) plan(cfg *lang.Config, f planFlags, paths []string) (*plan.Plan, error) {
	p, diags, err := a.buildPlan(cfg, f, paths)
	if err != nil {
		return nil, exit(exitUsage, err)
	}
	return p, a.report(cfg, diags)
}

// shownFile returns the name of a pipeline in reports: the paths, or the only file of the folder that they name.
func shownFile(cfg *lang.Config, paths []string) string {
	shown := cmp.Or(strings.Join(paths, " "), ".")
	if files := cfg.Sources.Files; len(files) == 1 && filepath.Dir(files[0].Name) == filepath.Clean(shown) {
		return files[0].Name
	}
	return shown
}

func (a *app) buildPlan(cfg *lang.Config, f planFlags, paths []string) (*plan.Plan, hcl.Diagnostics, error) {
	switch {
	case f.timeScale != 1 && f.simulate == "":
		return nil, nil, errors.New("--time-scale needs --simulate: real servers keep real time")
	case f.timeScale != 1 && f.simulate == plan.SimulateVirtual:
		return nil, nil, errors.New("--time-scale is for simulated servers that keep a clock: virtual time needs none")
	case !(f.timeScale >= 1) || f.timeScale > 1000:
		return nil, nil, errors.New("--time-scale must be from 1 to 1000")
	}
	p, diags := plan.Build(cfg.Config, plan.Options{
		File: shownFile(cfg, paths), Only: f.only, Repeat: f.repeat, TimeScale: f.timeScale, Simulated: f.simulate,
		Noise: f.noise, LaunchTime: f.launchTime, Calibration: f.calibration,
		IgnoreNoise: f.ignoreNoise, RefuseIdentical: !f.allowIdentical, AnySimulation: f.anySimulation, Attempt: f.attempt,
		Notes: append(leftOut(cfg), f.notes...),
		Argv:  a.argv(f.simulate != ""), Launch: target.Launch(a.places, a.engines(), a.connectors, f.simulate, f.timeScale),
	})
	if !diags.HasErrors() {
		diags = append(diags, target.CheckSimulation(p, a.engines(), a.connectors)...)
		diags = append(diags, target.CheckDownloads(p)...)
		diags = append(diags, target.CheckProfile(a.places, p, a.engines(), a.connectors)...)
	}
	return p, diags, nil
}

// argv returns a function that renders a server's command line for display.
func (a *app) argv(simulated bool) func(*config.Server) ([]string, error) {
	known := a.engines()
	return func(s *config.Server) ([]string, error) {
		e, ok := known[s.Kind.Name]
		if !ok || s.Late {
			return nil, nil
		}
		return target.Argv(e, s.Spec, simulated)
	}
}

type runFlags struct {
	config    configFlags
	plan      planFlags
	history   historyFlag
	out       string
	resume    bool
	keepGoing bool
	json      bool
	progress  progress
	allow     docker.Allow
	// allowUntrusted runs the code of a change that the job must not trust.
	allowUntrusted bool
	post           postFlags
	failOn         []result.Verdict
	gates          sourceFlags
	// planned is called with the plan before anything starts, nil for no call; it has no flag.
	planned func(*lang.Config, *plan.Plan) error
	// answer prints the verdict on the comparison that matters most, as a sentence, after the report; it has no flag.
	answer bool
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [FILE|DIR]...",
		Short: "Launch, measure, compare and report",
		Long: "Carries a pipeline out and sets the exit status: 0 nothing that the file treats as failure, 1 a regression,\n" +
			"3 wrong usage or configuration, 4 infrastructure, 5 inconclusive, missing or invalid where the file says that fails,\n130 and 143 " +
			"interrupted.\n\n" +
			"With --simulate the file's own servers are simulated: real processes on real sockets that keep the time of a modelled\n" +
			"GPU. With --simulate=virtual the model alone stands behind the file's schedule, looks, gates and reports: no process, no\n" +
			"port, no lock, hours of launches in seconds, and the same result each time. It shows what a file would do and decide,\n" +
			"and measures nothing: no client, network or machine takes part, and no transport is proved.",
		RunE: interruptible(func(ctx context.Context, args []string) error { return a.run(ctx, f, args) }),
	}
	f.config.register(cmd)
	f.config.registerGates(cmd)
	f.plan.register(cmd)
	f.history.register(cmd)
	cmd.Flags().Lookup("history").Usage += "; the flag has the session added to it, from the default branch"
	fl := cmd.Flags()
	outFlag(fl, &f.out, "run directory (a new one below .pipeline/runs unless set)")
	fl.BoolVar(&f.resume, "resume", false, "go on with the interrupted run in --out (the latest unless set)")
	fl.Var(bounded{&f.plan.attempt, 1, maxAttempts}, "attempt",
		"`number` of this try of the same change, where earlier ones are not resumed: a pass needs less and less of alpha (the runner's count unless set)")
	fl.BoolVar(&f.keepGoing, "keep-going", false, "measure the other sides to the end when one has failed")
	fl.BoolVar(&f.json, "json", false, "print events as JSON lines on standard output")
	f.post.register(cmd)
	f.gates.register(cmd)
	failOnFlag(cmd, &f.failOn)
	progressFlag(cmd, &f.progress)
	fl.BoolVar(&f.allowUntrusted, "allow-untrusted", false, "run in a job whose event may be about a change from outside")
	fl.BoolVar(&f.allow.Privileged, "allow-privileged", false,
		"let containers have rights over the machine: privileged, its PID namespace, capabilities and devices beyond those of servers")
	fl.BoolVar(&f.allow.HostMounts, "allow-host-mounts", false, "let containers mount the machine's root and system folders")
	fl.BoolVar(&f.allow.DockerSocket, "allow-docker-socket", false,
		"let containers mount the socket of a container daemon, which is as good as root")
	return cmd
}

func (a *app) run(ctx context.Context, f runFlags, paths []string) error {
	if err := a.change().RefusedRun; err != nil && !f.allowUntrusted {
		return exit(exitUsage, err)
	}
	p, err := a.prepare(ctx, &f, paths)
	if err != nil {
		return err
	}
	if f.planned != nil {
		if err := f.planned(p.Config, p.plan); err != nil {
			return err
		}
	}
	tries := a.tries(p.plan, f)
	switch {
	case f.resume:
	case !p.stated:
		tries.count(a, p.plan)
	case p.plan.Attempt > 1:
		p.plan.AgainUnknown(p.plan.Attempt)
	}
	view := f.progress(a)
	if f.json {
		view = ui.NewJSON(a.Out)
	}
	opt, err := a.runOptions(f, p, paths, view)
	if err != nil {
		return exit(exitInfrastructure, err)
	}
	res, err := session.Run(ctx, opt)
	tries.note(a, p.plan, res)
	// The verdict alone sets the exit code. It is in the run directory even if it could not be shown.
	if closed := view.Close(); closed != nil {
		a.warn("not all of the progress was printed: " + closed.Error())
	}
	if res != nil {
		a.show(f, res)
		a.keepSession(ctx, p.added, res.Document)
	}
	if err != nil {
		return a.runError(ctx, p.Config, err)
	}
	return exit(res.Document.ExitCode, nil)
}

// prepared is what a run needs to know before it begins.
type prepared struct {
	judged
	plan *plan.Plan
	// past holds earlier sessions to compare with, and added is where the session is added.
	past   *history.History
	added  historyFlag
	source *result.Source
	stated bool // the command line states the attempt
}

// prepare reads and plans the files of a run, by the file before the change where that judges. It completes the flags.
func (a *app) prepare(ctx context.Context, f *runFlags, paths []string) (*prepared, error) {
	cfg, err := a.load(f.config, paths)
	if err != nil {
		return nil, err
	}
	out := &prepared{added: f.history, source: a.checkout(ctx, cfg.Folder), stated: f.plan.attempt > 0}
	out.judged, err = a.judgedBy(f.gates, f.config, cfg)
	if err == nil {
		f.history, err = a.judgedHistory(f.gates, f.history, cfg, out.Config)
	}
	if err := errors.Join(err, setFailOn(out.Config, f.failOn)); err != nil {
		return nil, exit(exitUsage, err)
	}
	f.plan.notes = out.notes
	out.past, err = a.openHistory(ctx, f.history, out.Config)
	if err != nil {
		return nil, err
	}
	f.plan.noise, f.plan.launchTime = a.noise(ctx, out.past, f.plan), a.launchTime(ctx, out.past, f.plan)
	f.plan.calibration = a.calibration(ctx, out.past, f.plan)
	f.plan.allowIdentical = f.plan.allowIdentical || f.resume // the original run was allowed
	if !out.stated && !f.resume {
		f.plan.attempt = a.attempt()
	}
	out.plan, err = a.plan(out.Config, f.plan, paths)
	return out, err
}

// show prints the result of a session, and the annotations that its publisher reads from the log.
func (a *app) show(f runFlags, res *session.Result) {
	if !f.json {
		if err := reports.Text(a.Out, res.Document, reports.Options{Color: a.outColor(), Width: a.OutWidth(), Brief: true}); err != nil {
			a.warn("the result was not printed: " + err.Error())
		}
		fmt.Fprintf(a.Out, "\n%s\n", reports.Verdict(res.Document))
		if f.answer {
			a.printAnswer(res.Document)
		}
		fmt.Fprintf(a.Out, "results: %s\n", res.Dir)
		if page := filepath.Join(res.Dir, "report.html"); exists(page) {
			fmt.Fprintf(a.Out, "page: %s\n", page)
		}
	}
	for _, line := range a.publisher().Annotations(res.Document) {
		fmt.Fprintln(a.Log, line)
	}
}

// printAnswer prints the verdict on the comparison that matters most as a sentence.
func (a *app) printAnswer(doc *result.Document) {
	text := reports.Answer(doc, reports.Options{})
	if text == "" {
		return
	}
	if doc.Simulated != "" {
		text = "Simulated: " + text
	}
	fmt.Fprintf(a.Out, "%s\n", strings.Join(term.Wrap(escape.Line(text+".", 0), a.OutWidth()), "\n"))
}

// runOptions returns the options of the session of a run.
func (a *app) runOptions(f runFlags, p *prepared, paths []string, view event.Handler) (session.Options, error) {
	self, err := ownPath()
	if err != nil {
		return session.Options{}, err
	}
	if f.resume && f.out == "" {
		f.out = filepath.Join(".pipeline", "runs", "latest")
	}
	if f.post.command == "" {
		f.post.command = reproduction(f, paths)
	}
	about := func(s *publish.Settings) {
		s.Changed, s.Number = p.changes, a.change().Number
		s.BaseJudges = f.gates.source == gatesOfBase
		if b := p.Settings.Bisect; b != nil && b.Candidates == nil && len(paths) == 1 {
			s.Bisect = "pipeline bisect " + plan.Quote(paths[0])
		}
	}
	opt := a.sessionOptions(f, p.plan, view)
	opt.Self, opt.Source, opt.History, opt.Summary = self, p.source, p.past, a.Getenv("GITHUB_STEP_SUMMARY")
	opt.Publisher, opt.Redactor = a.published(f, p.Reports, about), a.redact
	return opt, nil
}

// sessionOptions returns the options common to every session of this program.
func (a *app) sessionOptions(f runFlags, p *plan.Plan, view event.Handler) session.Options {
	return session.Options{
		Plan: p, Out: f.out, Resume: f.resume, KeepGoing: f.keepGoing,
		Engines: a.engines(), Connectors: a.connectors, Actions: actions(), Places: a.places, Tools: a.tools, Formats: a.formats,
		Allow: f.allow, Environ: a.Environ(),
		Views: []event.Handler{view}, Version: Version(), Now: time.Now, Random: rand.Reader, InterruptCode: interruptCode,
	}
}

// maxAttempts is the upper limit of --attempt.
const maxAttempts = 1000

// attempt returns the runner's attempt count, 0 if there is none.
func (a *app) attempt() int {
	n := a.change().Attempt
	if n < 1 || n > maxAttempts {
		return 0
	}
	return n
}

// interruptCode returns the exit code of a session ended by a signal, else 0.
func interruptCode(cause error) int {
	if i, ok := errors.AsType[interrupt](cause); ok {
		return i.exitCode()
	}
	return 0
}

// runError prints a fault of the file with its location; other errors are infrastructure errors.
func (a *app) runError(ctx context.Context, cfg *lang.Config, err error) error {
	if code := interruptCode(context.Cause(ctx)); code != 0 {
		return exit(code, err)
	}
	if misused(err) {
		return exit(exitUsage, err)
	}
	faults := configErrors(err)
	if len(faults) == 0 {
		return exit(exitInfrastructure, err)
	}
	var diags hcl.Diagnostics
	for _, f := range faults {
		diags = append(diags, faultDiagnostic(cfg, f)...)
	}
	return a.report(cfg, diags)
}

// misused reports whether the command was given something that it cannot work on.
func misused(err error) bool {
	misuses := []error{engine.ErrPlanChanged, session.ErrJudged, store.ErrNotEmpty, store.ErrNotRun, store.ErrLocked}
	return slices.ContainsFunc(misuses, func(misuse error) bool { return errors.Is(err, misuse) })
}

// byConfiguration reports whether a run has no result because of its configuration.
func byConfiguration(err error) bool { return misused(err) || len(configErrors(err)) > 0 }

// configErrors finds every fault of the file in a tree of errors.
func configErrors(err error) []*engine.ConfigError {
	switch e := err.(type) { //nolint:errorlint // walks the tree itself
	case *engine.ConfigError:
		return []*engine.ConfigError{e}
	case interface{ Unwrap() []error }:
		var out []*engine.ConfigError
		for _, inner := range e.Unwrap() {
			out = append(out, configErrors(inner)...)
		}
		return out
	case interface{ Unwrap() error }:
		return configErrors(e.Unwrap())
	}
	return nil
}

func faultDiagnostic(cfg *lang.Config, f *engine.ConfigError) hcl.Diagnostics {
	if inner, ok := errors.AsType[hcl.Diagnostics](f.Err); ok {
		return inner
	}
	summary := "cannot be run"
	if errors.Is(f.Err, steps.ErrUnsupported) {
		summary = "not supported yet"
	}
	return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: f.Addr + ": " + summary, Detail: f.Err.Error() + ".",
		Subject: cfg.RangeOf(f.Addr)}}
}

// reproduction returns the shell command that repeats a run: the flags that determine what is measured, without the
// output flags.
func reproduction(f runFlags, paths []string) string {
	words := []string{"pipeline", "run"}
	flag := func(name string, values ...string) {
		for _, v := range values {
			words = append(words, "--"+name, plan.Quote(v))
		}
	}
	flag("var-file", f.config.varFiles...)
	flag("var", f.config.vars...)
	flag("only", f.plan.only...)
	if f.plan.repeat > 0 {
		flag("repeat", fmt.Sprint(f.plan.repeat))
	}
	if f.plan.simulate != "" {
		words = append(words, "--simulate="+f.plan.simulate)
	}
	for _, p := range paths {
		words = append(words, plan.Quote(cmp.Or(p, ".")))
	}
	return strings.Join(words, " ")
}

// progress returns the view that shows the progress of a run.
type progress func(*app) ui.View

// progressOptions lists the views; auto selects tty on a terminal and plain elsewhere.
var progressOptions = []option[progress]{
	{name: "auto", value: func(a *app) ui.View {
		if a.Width() > 0 && a.Getenv("CI") == "" && a.Getenv("TERM") != "dumb" {
			return ui.NewTTY(a.Err, a.viewOptions())
		}
		return ui.NewPlain(a.Log, a.viewOptions())
	}},
	{"tty", func(a *app) ui.View { return ui.NewTTY(a.Err, a.viewOptions()) }, "redrawn on a terminal"},
	{"plain", func(a *app) ui.View { return ui.NewPlain(a.Log, a.viewOptions()) }, "line by line"},
	{name: "quiet", value: func(*app) ui.View { return ui.NewQuiet() }},
}

func progressFlag(cmd *cobra.Command, p *progress) {
	enumFlag(cmd, p, "progress", "auto", progressOptions, "how progress is shown")
}

func (a *app) viewOptions() ui.Options {
	return ui.Options{
		Color: a.color(), Width: a.Width, Now: time.Now, GitHubActions: a.Getenv("GITHUB_ACTIONS") == "true",
	}
}
