package cli

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/bisect"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/git"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/pipeline/internal/ui"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/bisection"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"
)

const (
	defaultConfidence = 0.95
	defaultLaunches   = 60
)

type bisectFlags struct {
	run            runFlags
	good, bad      string
	fromHistory    string
	confidence     float64
	launches       int
	time           time.Duration
	allowUntrusted bool
	format         reports.Format
}

func (a *app) bisectCommand() *cobra.Command {
	f := bisectFlags{confidence: defaultConfidence, launches: defaultLaunches}
	cmd := &cobra.Command{
		Use:   "bisect FILE|DIR",
		Short: "Find the commit that made a server slower",
		Long: "Searches the commits from --good to --bad, or the candidates that the file lists, for the one that made its gates regress. The\n" +
			"`bisect` block of the file says which variables get the two sides and how a commit is built, in a checkout of its own.\n\n" +
			"The ends are compared first, as the file says: \"no step between them\" is an answer. Then single pairs of launches, the\n" +
			"good end and a candidate, are measured where they say most, until one candidate has the probability --confidence. A wrong\n" +
			"turn is taken back by later pairs. What cannot be built is skipped; a range is the answer where the budget ends first.\n\n" +
			"All that was measured is kept in --out, and --resume goes on there after an interruption, or with a larger budget. Exit status 0\n" +
			"for no step, 1 for a culprit, 5 for a range or ends that could not be told apart; otherwise as of `run`.",
		Args: cobra.ExactArgs(1),
		RunE: interruptible(func(ctx context.Context, args []string) error {
			doc, err := a.bisect(ctx, f, args)
			if err != nil {
				return err
			}
			if err := f.format.Bisection(a.Out, doc, reports.Options{Color: a.outColor(), Width: a.OutWidth()}); err != nil {
				return exit(exitInfrastructure, err)
			}
			return exit(bisectExit(doc), nil)
		}),
	}
	f.run.config.register(cmd)
	f.run.config.registerGates(cmd)
	f.run.plan.register(cmd)
	f.run.history.register(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.good, "good", "",
		"the `ref` that is fast enough: a commit, tag or branch, or an entry of the file's candidates (their first unless set)")
	fl.StringVar(&f.bad, "bad", "", "the `ref` that is too slow (the last of the file's candidates unless set)")
	fl.StringVar(&f.fromHistory, "from-history", "", "take the ends from the last change for the worse of a `SERIES` of the history: its "+
		"key in `history report --format json`, or its cell's label or hash")
	fl.Float64Var(&f.confidence, "confidence", f.confidence, "`probability` at which a candidate is named")
	fl.Var(bounded{&f.launches, 4, 10_000}, "launches", "most `launches` to spend; the ends are compared in any case")
	fl.DurationVar(&f.time, "time", 0, "begin no more pairs after this `time`, such as 6h")
	outFlag(fl, &f.run.out, "folder of the search (a new one below .pipeline/bisect unless set)")
	fl.BoolVar(&f.run.resume, "resume", false, "go on with the search in --out (the latest unless set)")
	fl.BoolVar(&f.allowUntrusted, "allow-untrusted", false, "build and run commits in a job whose event may be about a change from outside")
	formatFlag(cmd, &f.format, a.formats.OfBisections())
	return cmd
}

// bisectExit returns the exit status for an answer.
func bisectExit(d *bisection.Document) int {
	switch d.Answer {
	case bisection.None:
		return exitOK
	case bisection.Found:
		return exitRegression
	}
	return exitUndecided
}

// bisect searches, and writes the answer next to the measurements.
func (a *app) bisect(ctx context.Context, f bisectFlags, paths []string) (*bisection.Document, error) {
	if err := a.trusted(); err != nil && !f.allowUntrusted {
		return nil, exit(exitUsage, fmt.Errorf("a search builds and runs every commit that it looks at: %w", err))
	}
	if !(f.confidence > 0.5 && f.confidence < 1) {
		return nil, exit(exitUsage, errors.New("--confidence must be above 0.5 and below 1"))
	}
	if f.time < 0 {
		return nil, exit(exitUsage, errors.New("--time must be above zero; leave it out for no limit"))
	}
	cfg, err := a.load(f.run.config, paths)
	if err != nil {
		return nil, err
	}
	if cfg.Settings.Bisect == nil {
		return nil, exit(exitUsage, fmt.Errorf("%s has no bisect block in its pipeline block, which says how candidates become servers: "+
			"pipeline schema bisect lists its arguments",
			paths[0]))
	}
	p, err := a.checkSearch(f, cfg, paths)
	if err != nil {
		return nil, err
	}
	// Builds get the same environment as every step, without secrets.
	sp := spawn.New(spawn.Options{Environ: a.Environ()})
	defer sp.Close()
	s, err := a.newSearch(ctx, f, cfg, paths, sp)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Folder.Close() }() // its journal is already synced
	fmt.Fprintf(a.Err, "search: %s\n", s.Folder.Path())
	for _, note := range machineNotes(p) {
		fmt.Fprintf(a.Err, "note: %s\n", note)
	}
	found, err := s.Run(ctx)
	if err != nil {
		return nil, a.searchError(ctx, s, err)
	}
	doc := s.Document(found, "pipeline "+Version(), append(a.bisectNotes(ctx, s), machineNotes(p)...))
	a.redact.Value(doc)
	if err := errors.Join(a.writeBisection(doc, s.Folder.Path()), s.Builder.Clear()); err != nil {
		return nil, a.searchError(ctx, s, err)
	}
	return doc, nil
}

// checkSearch plans the file with the defaults of its variables. It finds errors that no candidate changes, such as a
// pattern without matches, before anything is built.
func (a *app) checkSearch(f bisectFlags, cfg *lang.Config, paths []string) (*plan.Plan, error) {
	f.run.plan.ignoreNoise, f.run.plan.allowIdentical = true, true
	p, diags, err := a.buildPlan(cfg, f.run.plan, paths)
	switch {
	case err != nil:
		return nil, exit(exitUsage, err)
	case diags.HasErrors():
		return nil, a.report(cfg, diags)
	}
	if err := bisect.CheckPlan(p); err != nil {
		return nil, exit(exitUsage, err)
	}
	return p, nil
}

// machineNotes explains on which machines a search measures if there are several.
func machineNotes(p *plan.Plan) []string {
	if p.Machines == nil || p.Machines.Count < 2 {
		return nil
	}
	return []string{fmt.Sprintf("The ends are compared on all %d machines, and each pair after that is measured on the first alone: a "+
		"change that only another machine shows is not found.", p.Machines.Count)}
}

// searchError converts the error of a search without an answer. It suggests --resume unless the file caused the
// error, because resuming would repeat such an error.
func (a *app) searchError(ctx context.Context, s *bisect.Search, err error) error {
	if said, ok := errors.AsType[*exitError](err); ok && said.code != exitInfrastructure && !errors.Is(err, bisect.ErrInterrupted) {
		return err
	}
	code := exitInfrastructure
	if c := interruptCode(context.Cause(ctx)); c != 0 {
		code = c
	}
	return exit(code, fmt.Errorf("%w; what was measured is kept: go on with --resume --out %s", err, s.Folder.Path()))
}

// newSearch lists the candidates and opens the folder.
func (a *app) newSearch(ctx context.Context, f bisectFlags, cfg *lang.Config, paths []string, sp *spawn.Spawner) (*bisect.Search, error) {
	spec := cfg.Settings.Bisect
	dir := cfg.Folder
	repo := git.Repo{Spawner: sp, Dir: filepath.Join(dir, spec.Repository)}
	if filepath.IsAbs(spec.Repository) {
		repo.Dir = spec.Repository
	}
	if err := f.fromSeries(ctx, a); err != nil {
		return nil, err
	}
	state := bisect.State{File: paths[0], Sources: digest(cfg, f), Confidence: f.confidence, Simulated: f.run.plan.simulate}
	var err error
	if !f.run.resume || f.good != "" || f.bad != "" {
		if state.Candidates, err = candidates(ctx, repo, spec.Candidates, f, sourceNames(cfg)); err != nil {
			return nil, exit(exitUsage, err)
		}
	}
	out, err := bisectFolder(f)
	if err != nil {
		return nil, exit(exitInfrastructure, err)
	}
	folder, err := bisect.OpenFolder(out, &state, f.run.resume)
	if err != nil {
		code := exitInfrastructure
		if errors.Is(err, bisect.ErrNotSearch) {
			code = exitUsage
		}
		return nil, exit(code, err)
	}
	s := &bisect.Search{
		State: state, Folder: folder, MaxLaunches: f.launches, Now: time.Now,
		Builder: &bisect.Builder{Repo: repo, Spec: spec.Build, Folder: out, Redact: a.redact},
		Say:     func(text string) { fmt.Fprintln(a.Err, line(text)) },
	}
	if f.time > 0 {
		s.Until = time.Now().Add(f.time)
	}
	variables, err := a.searchVariables(cfg)
	if err != nil {
		return nil, errors.Join(exit(exitUsage, err), folder.Close())
	}
	s.Measure = func(ctx context.Context, m bisect.Session) (*result.Document, error) {
		return a.measureCandidate(ctx, f, paths, variables, m)
	}
	return s, nil
}

func candidates(ctx context.Context, repo git.Repo, list []string, f bisectFlags, files []string) ([]bisect.Candidate, error) {
	if list != nil {
		return bisect.Entries(list, f.good, f.bad)
	}
	if f.good == "" || f.bad == "" {
		return nil, errors.New("name both ends, --good REF and --bad REF: the file lists no candidates")
	}
	return bisect.Commits(ctx, repo, f.good, f.bad, files)
}

// sourceNames returns the absolute paths of a pipeline's files.
func sourceNames(cfg *lang.Config) []string {
	var out []string
	for _, s := range cfg.Sources.Files {
		if abs, err := filepath.Abs(s.Name); err == nil {
			out = append(out, abs)
		}
	}
	return out
}

// digest hashes the settings, other than candidates, that determine a search's measurements.
func digest(cfg *lang.Config, f bisectFlags) string {
	h := sha256.New()
	for _, s := range cfg.Sources.Files {
		fmt.Fprintf(h, "%d\n%s\n", len(s.Bytes), s.Bytes)
	}
	fmt.Fprintf(h, "%q %q %d %g\n", f.run.plan.only, f.run.config.gates, f.run.plan.repeat, f.run.plan.timeScale)
	for _, v := range cfg.Variables {
		if !v.Sensitive {
			fmt.Fprintf(h, "%s = %#v\n", v.Name, v.Value)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// bisectFolder returns the folder of a search.
func bisectFolder(f bisectFlags) (string, error) {
	base := filepath.Join(".pipeline", "bisect")
	out := f.run.out
	switch {
	case out != "":
	case f.run.resume:
		latest, err := newest(base)
		if err != nil {
			return "", fmt.Errorf("no search to resume: %w", err)
		}
		out = latest
	default:
		id, err := store.RunID(time.Now(), rand.Reader)
		if err != nil {
			return "", err
		}
		out = filepath.Join(base, id)
	}
	return filepath.Abs(out)
}

// newest returns the latest search in a folder. Search names begin with their time.
func newest(base string) (string, error) {
	entries, err := os.ReadDir(base)
	if err == nil && len(entries) == 0 {
		err = fmt.Errorf("%s is empty", base)
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(base, entries[len(entries)-1].Name()), nil
}

// sideVariables names the variables that receive the sides; text tells which of them take a string.
type sideVariables struct {
	good, candidate string
	text            map[string]bool
}

func (a *app) searchVariables(cfg *lang.Config) (sideVariables, error) {
	spec := cfg.Settings.Bisect
	v := sideVariables{good: spec.Good, candidate: spec.Candidate, text: map[string]bool{}}
	for _, known := range cfg.Variables {
		if known.Name != v.good && known.Name != v.candidate {
			continue
		}
		switch t := known.Value.Type(); {
		case t == cty.String:
			v.text[known.Name] = true
		case t.IsMapType() || t.IsObjectType():
		default:
			return v, fmt.Errorf("variable %q gets a candidate, so its type must be string, map(string) or an object", known.Name)
		}
	}
	return v, nil
}

// argument sets a variable to a candidate. A string variable gets the candidate's folder if it was built, else its
// reference. Other variables get all values as JSON.
func (v sideVariables) argument(name string, values map[string]string) (string, error) {
	if v.text[name] {
		if values["path"] != "" {
			return name + "=" + values["path"], nil
		}
		return name + "=" + values["ref"], nil
	}
	text, err := json.Marshal(values)
	return name + "=" + string(text), err
}

// measureCandidate plans the file with both sides filled in, and executes the plan.
func (a *app) measureCandidate(ctx context.Context, f bisectFlags, paths []string, v sideVariables,
	m bisect.Session) (*result.Document, error) {
	good, err := v.argument(v.good, m.Good)
	head, err2 := v.argument(v.candidate, m.Candidate)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	config := f.run.config
	config.vars = append(slices.Clone(config.vars), good, head)
	cfg, diags, err := a.read(config, paths) // the file's warnings were already printed
	if err == nil && diags.HasErrors() {
		err = a.report(cfg, diags)
	}
	if err != nil {
		return nil, err
	}
	flags := f.run.plan
	flags.ignoreNoise, flags.allowIdentical = true, true
	p, err := a.plan(cfg, flags, paths)
	if err != nil {
		return nil, err
	}
	if p, err = m.Plan(p); err != nil {
		return nil, exit(exitUsage, err)
	}
	run := f.run
	run.progress = func(*app) ui.View { return ui.NewQuiet() }
	run.out = m.Out
	_, err = os.Stat(filepath.Join(m.Out, store.PlanFile))
	run.resume = err == nil
	doc, err := a.measure(ctx, run, cfg, p, nil)
	if run.resume && err != nil && (errors.Is(err, engine.ErrPlanChanged) || errors.Is(err, store.ErrNotRun)) {
		if err := os.RemoveAll(m.Out); err != nil {
			return nil, err
		}
		run.resume = false
		doc, err = a.measure(ctx, run, cfg, p, nil)
	}
	return doc, err
}

// bisectNotes returns notes to print with the answer.
func (a *app) bisectNotes(ctx context.Context, s *bisect.Search) []string {
	if s.Builder.Spec != nil && bisect.Dirty(ctx, s.Builder.Repo) {
		return []string{"The work tree has changes that are not committed: no candidate has them."}
	}
	return nil
}

// writeBisection writes the answer in all formats.
func (a *app) writeBisection(doc *bisection.Document, dir string) error {
	for _, f := range a.formats.OfBisections() {
		name := "bisect" + f.Extension
		write := func(w io.Writer) error { return f.Bisection(w, doc, reports.Options{}) }
		if err := store.WriteFile(filepath.Join(dir, name), a.redact, write); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return nil
}
