package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports"
	"github.com/spf13/cobra"
)

// gateFlags defines what is judged, and by which file.
type gateFlags struct {
	config  configFlags
	history historyFlag
	results importFlags
	files   []string // pipeline files
	foreign []string // results of other tools
	format  reports.Format
	json    bool
	block   bool // the sides were not measured alternately
}

func (a *app) gateCommand() *cobra.Command {
	var f gateFlags
	cmd := &cobra.Command{
		Use:   "gate RUN | gate FILE --results RESULT...",
		Short: "Judge stored results, ours or other tools', by a file's gates",
		Long: "Judges the runs that a run directory holds without measuring anything, for example with another margin\nor with gates that the " +
			"file did not have then. The exit status is that of `run`.\n\n" +
			"With --results, judges what other load generators have measured, in any format that `import` reads: each result\n" +
			"belongs to the cell of the file's benchmarks whose axes its parameters have. What a file does not say can be said\n" +
			"before its name, also for a pattern of names:\n\n" +
			"  pipeline gate gates.hcl --one-launch-per-file --results 'side=base:main/*.json' 'side=head:branch/*.json'\n\n" +
			"Repeats are results of one cell from different launches of the server. Without a word on launches all results\n" +
			"of a cell are one, and nothing is decided.\n\n" +
			"Launches of both sides are paired by their name, by the time in the results, by the number in their names, or in order.\n" +
			"Sides that did other work are invalid, unless the baseline lists in differ what they may differ in.",
		Args: cobra.MinimumNArgs(1),
		RunE: interruptible(func(ctx context.Context, args []string) error {
			if f.json {
				f.format, _ = a.formats.Lookup("json")
			}
			if len(f.foreign) > 0 {
				return a.gateResults(ctx, f, args)
			}
			if len(args) > 1 {
				return exit(exitUsage, errors.New("gate judges one run directory: name results of other tools with --results"))
			}
			if err := noPipelineFiles("gate without --results", args); err != nil {
				return err
			}
			return a.gateRun(ctx, f, args[0])
		}),
	}
	f.config.register(cmd)
	f.config.registerGates(cmd)
	f.history.register(cmd)
	f.results.register(cmd, a.tools)
	cmd.Flags().StringArrayVarP(&f.files, "file", "f", nil, "pipeline `file` with the gates (the run's own unless set)")
	cmd.Flags().StringArrayVar(&f.foreign, "results", nil, "`result` of another tool to judge by the gates of FILE; more may follow")
	cmd.Flags().BoolVar(&f.block, "block-order", false,
		"judge sides that were measured one after the other and not in turn: what changed on the machine between them counts as a difference")
	formatFlag(cmd, &f.format, a.formats.OfDocuments())
	cmd.Flags().BoolVar(&f.json, "json", false, "print the result document, as --format json")
	cmd.Flags().Lookup("by").Usage = "parameters that hold an axis where they are called otherwise, for example side=label"
	return cmd
}

// gateRun judges a run directory again.
func (a *app) gateRun(ctx context.Context, f gateFlags, run string) error {
	stored, err := judge.StoredVars(run)
	if err != nil {
		return exit(exitUsage, err)
	}
	again := *a
	again.Environ = func() []string { return append(a.Environ(), stored...) }
	paths := f.files
	if len(paths) == 0 {
		paths = []string{store.SourceDir(run)}
		if f.config.stored, err = judge.Beside(run); err != nil {
			return exit(exitUsage, err)
		}
	}
	cfg, err := again.load(f.config, paths)
	if err != nil {
		return err
	}
	past, err := a.openHistory(ctx, f.history, cfg)
	if err != nil {
		return err
	}
	doc, err := judge.Rejudge(cfg.Config, run, past)
	if err != nil {
		return exit(exitUsage, err)
	}
	doc.Warnings = append(doc.Warnings, leftOut(cfg)...)
	return a.printDocument(doc, f.format, reports.Options{})
}

// gateResults judges results of other tools. Without -f, the first argument is the pipeline file; the other arguments
// are results.
func (a *app) gateResults(ctx context.Context, f gateFlags, args []string) error {
	files := f.files
	if len(files) == 0 {
		files, args = args[:1], args[1:]
	}
	names, err := f.results.names()
	if err != nil {
		return exit(exitUsage, err)
	}
	cfg, err := a.load(f.config, files)
	if err != nil {
		return err
	}
	f.results.tool = cmp.Or(f.results.tool, toolOf(cfg))
	// A verdict must not silently omit a launch that cannot be read.
	runs, err := a.readResults(append(f.foreign, args...), convert.ReadOptions{Tools: a.tools, Tool: f.results.tool})
	if errors.Is(err, convert.ErrOurs) {
		err = fmt.Errorf("%w: judge the run directory of a result of pipeline itself with pipeline gate RUN -f FILE", err)
	}
	if err != nil {
		return exit(exitUsage, err)
	}
	past, err := a.openHistory(ctx, f.history, cfg)
	if err != nil {
		return err
	}
	doc, err := judge.Imported(cfg.Config, runs, convert.FitOptions{Options: f.results.options(files[0]), Names: names, BlockOrder: f.block},
		past, time.Now())
	if err != nil {
		return exit(exitUsage, err)
	}
	doc.Warnings = append(doc.Warnings, leftOut(cfg)...)
	return a.printDocument(doc, f.format, reports.Options{})
}

// toolOf returns the tool that the file names as the source of its results, "" for none.
func toolOf(cfg *lang.Config) string {
	for _, b := range cfg.Benchmarks {
		for _, c := range b.Cells {
			if d := c.Workload.Driver; d != nil && d.Tool != "" {
				return d.Tool
			}
		}
	}
	return ""
}

// names parses --by in the form that gate takes: AXIS=PARAMETER.
func (f importFlags) names() (map[string]string, error) {
	names := map[string]string{}
	for _, pair := range f.by {
		axis, param, ok := strings.Cut(pair, "=")
		if !ok || axis == "" || param == "" {
			return nil, fmt.Errorf("--by %s: gate takes the axes of the file, and --by AXIS=PARAMETER says what one is called in the results", pair)
		}
		names[axis] = param
	}
	return names, nil
}
