package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
)

// compareFlags configures the comparison of results.
type compareFlags struct {
	results  importFlags
	metrics  []string
	format   reports.Format
	markdown bool
}

func (a *app) compareCommand() *cobra.Command {
	var f compareFlags
	var t testFlags
	cmd := &cobra.Command{
		Use:   "compare A B...",
		Short: "Set results side by side, ours or other tools', in one table",
		Long: "A, B and so on are run directories, results files, or files that `import` reads; night.log?qps=2 is a part of a file.\n" +
			"They are described, not judged: they were not measured alternately in one session. Figures of unlike definitions\n" +
			"are not compared, and cells in which the sides did not do the same work are named.\n\n" +
			"A side can be given a name, and another side than the first to be compared with:\n\n" +
			"  pipeline compare name=RDMA:rdma.log name=TCP,against=RDMA:tcp.log\n\n" +
			"With --test two sides of other tools' results are tested as `gate` does, with the same rules, without a pipeline file. A side is\n" +
			"a pattern, a folder, or all files whose names differ in their numbers only:\n\n" +
			"  pipeline compare --test --margin 5% --one-launch-per-file 'base-*.json' 'head-*.json'",
		Args: cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := noPipelineFiles("compare", args); err != nil {
				return err
			}
			if f.markdown {
				f.format, _ = a.formats.Lookup("markdown")
			}
			for i, id := range f.metrics {
				f.metrics[i] = comparedID(id)
			}
			if t.test {
				return a.compareTest(f, t, args)
			}
			if t.margin != "" || t.block {
				return exit(exitUsage, errors.New("--margin and --block-order belong to --test"))
			}
			if f.format.Comparison == nil {
				return exit(exitUsage, fmt.Errorf("--format %s draws verdicts: add --test, or use one of %s", f.format.Name,
					strings.Join(a.formats.OfComparisons().Names(), ", ")))
			}
			if err := a.compare(f, args); err != nil {
				return err
			}
			if len(args) > leastPattern && launchesOfTwo(args) {
				fmt.Fprintln(a.Err, "note: these look like several launches of two sides: --test --one-launch-per-file tests the two sides")
			}
			return nil
		},
	}
	f.results.register(cmd, a.tools)
	t.register(cmd)
	cmd.Flags().StringSliceVar(&f.metrics, "metric", nil,
		"`metrics` to show, for example ttft.mean,itl.p99 (those that everybody asks for unless set)")
	formatFlag(cmd, &f.format, a.formats.OfResults())
	cmd.Flags().BoolVar(&f.markdown, "markdown", false, "print a markdown table, as --format markdown")
	return cmd
}

func (a *app) compare(f compareFlags, args []string) error {
	sides := make([]side, len(args))
	var unread error
	for i, arg := range args {
		var err error
		sides[i], err = a.readSide(arg, f.results.tool)
		if len(sides[i].runs) == 0 && err != nil {
			return exit(exitUsage, err)
		}
		unread = errors.Join(unread, err)
	}
	if err := documents(f.results, sides); err != nil {
		return exit(exitUsage, err)
	}
	compared, err := against(sides)
	if err != nil {
		return exit(exitUsage, err)
	}
	if err := knownMetrics(f.metrics, compared); err != nil {
		return exit(exitUsage, err)
	}
	if err := a.printComparison(compared, f.format, f.metrics, declaredBy(sides)); err != nil {
		return err
	}
	if unread != nil {
		return exit(exitUsage, fmt.Errorf("what is compared is not whole: %w", unread))
	}
	return nil
}

// comparedID returns the ID of a metric that --metric names.
func comparedID(name string) string {
	name = strings.TrimPrefix(name, "metric.")
	if m, ok := metric.Lookup(name); ok {
		return m.ID // metric.guidellm.ttft.p99 is an alias
	}
	return name
}

// against resolves the names of the sides that sides are compared with.
func against(sides []side) ([]reports.Side, error) {
	out := make([]reports.Side, len(sides))
	at := map[string]int{}
	for i, s := range sides {
		if _, taken := at[s.name]; taken && s.name != "" {
			return nil, fmt.Errorf("two results are named %q: give each a name of its own", s.name)
		}
		at[s.name] = i
		out[i] = reports.Side{Doc: s.doc, Name: s.name}
	}
	for i, s := range sides {
		if s.against == "" {
			continue
		}
		j, ok := at[s.against]
		if !ok || i == 0 || j == i {
			return nil, fmt.Errorf("%s: against=%s: it names no other result, and the first one is compared with none", s.arg, s.against)
		}
		out[i].Against = j
	}
	return out, nil
}

// knownMetrics returns an error for an ID that no side has.
func knownMetrics(ids []string, sides []reports.Side) error {
	for _, id := range ids {
		if slices.ContainsFunc(sides, func(s reports.Side) bool { return hasMetric(s.Doc, id) }) {
			continue
		}
		if _, ok := metric.Lookup(id); ok {
			return fmt.Errorf("--metric %s: none of the results has it", id)
		}
		if like := metric.Suggest(id); like != "" {
			return fmt.Errorf("--metric: unknown metric %s; did you mean %s?", id, like)
		}
		return fmt.Errorf("--metric: unknown metric %s", id)
	}
	return nil
}

func hasMetric(doc *result.Document, id string) bool {
	for _, b := range doc.Benchmarks {
		for _, c := range b.Cells {
			if _, ok := c.Summary[id]; ok || slices.ContainsFunc(c.Runs, func(r result.Run) bool { _, ok := r.Metrics[id]; return ok }) {
				return true
			}
		}
	}
	return false
}

// printComparison prints the table, and reasons why the sides are not comparable like for like. The reasons are below
// the table, inside a page, or on standard error for formats that programs read.
func (a *app) printComparison(sides []reports.Side, format reports.Format, metrics []string, declared comparability.Declared) error {
	notes := a.unlike(sides, declared)
	options := reports.Options{Metrics: metrics, Color: a.outColor(), Width: a.OutWidth()}
	if format.Page {
		options.Notes = notes
	}
	if err := reports.Compare(a.Out, sides, format, options); err != nil {
		return exit(exitUsage, err)
	}
	for _, note := range notes {
		switch {
		case format.Page:
		case format.Warns:
			fmt.Fprintf(a.Out, "\nnote: %s\n", note)
		default:
			fmt.Fprintf(a.Err, "note: %s\n", note)
		}
	}
	return nil
}

// unlike returns the reasons why the sides are not comparable like for like, and the warnings of their results, each
// once.
func (a *app) unlike(sides []reports.Side, declared comparability.Declared) []string {
	var notes []string
	for i, s := range sides {
		if i > 0 {
			notes = append(notes, a.tools.Check(sides[s.Against].Doc, s.Doc, sides[s.Against].Title(s.Against), s.Title(i), declared)...)
		}
	}
	for _, s := range sides {
		notes = append(notes, s.Doc.Warnings...)
	}
	var out []string
	for _, note := range notes {
		if note = escape.Line(note, 1000); !slices.Contains(out, note) {
			out = append(out, note)
		}
	}
	return out
}

// side is one side of `compare`: a document of this program, or results of another tool.
type side struct {
	arg  string // without its name
	doc  *result.Document
	runs []convert.Run
	// name is the name in the table, against the name of the side that it is compared with.
	name, against string
}

// readSide reads a side. It may return both results and an error for files that could not be read.
func (a *app) readSide(arg, tool string) (side, error) {
	s := side{}
	s.name, s.against, s.arg = sideLabels(arg)
	if store.IsRunDir(s.arg) {
		var err error
		s.doc, err = store.ReadDocument(s.arg)
		return s, err
	}
	var err error
	s.runs, err = a.readArgument(s.arg, convert.ReadOptions{Tools: a.tools, Tool: tool})
	if errors.Is(err, convert.ErrOurs) && len(s.runs) == 0 {
		s.doc, err = store.ReadDocument(s.arg)
	}
	return s, err
}

// sideLabels separates the labels about the table from an argument. An existing file whose name looks like labels is
// a file.
func sideLabels(arg string) (name, against, rest string) {
	if _, err := os.Stat(arg); err == nil {
		return "", "", arg
	}
	labels, rest := convert.ParseLabels(arg)
	name, against = labels["name"], labels["against"]
	delete(labels, "name")
	delete(labels, "against")
	var kept []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		kept = append(kept, key+"="+labels[key])
	}
	if len(kept) > 0 {
		rest = strings.Join(kept, ",") + ":" + rest
	}
	return name, against, rest
}

// selected lists the parameters by which an argument selects its results.
func selected(arg string) []string {
	_, selector := convert.ParseLabels(arg)
	sel, err := convert.ParseSelector(selector)
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(sel.Where))
}

// declaredBy returns the intended differences between sides: the parameters that select one.
func declaredBy(sides []side) comparability.Declared {
	var names []string
	for _, s := range sides {
		names = append(names, selected(s.arg)...)
	}
	return comparability.Declare(names...)
}

// separatesSides reports whether a parameter distinguishes the sides and not the cells. Such a parameter selects a
// side, or has one value per side and does not belong to the load.
func separatesSides(key string, sides []side) bool {
	for _, s := range sides {
		if slices.ContainsFunc(selected(s.arg), func(name string) bool { return convert.SameParam(name, key) }) {
			return true
		}
	}
	if slices.Contains(comparability.Load(), key) {
		return false
	}
	for _, s := range sides {
		values := map[string]bool{}
		for i := range s.runs {
			v, _ := s.runs[i].Param(key)
			values[v] = true
		}
		if len(values) > 1 {
			return false
		}
	}
	return true
}

// documents makes a document of each side. All sides distinguish cells by the same parameters: the requested ones, or
// those that differ anywhere.
func documents(f importFlags, sides []side) error {
	var all [][]convert.Run
	for _, s := range sides {
		all = append(all, s.runs)
	}
	chosen := len(f.by) == 0
	if chosen {
		f.by = slices.DeleteFunc(convert.CellKeys(f.options(""), all...), func(key string) bool { return separatesSides(key, sides) })
	}
	for i := range sides {
		if sides[i].doc != nil {
			continue
		}
		opt := f.options(sides[i].arg)
		opt.Chosen = chosen
		doc, err := convert.Document(sides[i].runs, opt)
		if err != nil {
			return fmt.Errorf("%s: %w", sides[i].arg, err)
		}
		sides[i].doc = doc
	}
	return nil
}
