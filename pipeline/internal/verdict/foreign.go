package verdict

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/regular"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// ReadForeign reads the results of other tools that an argument names: a path or a pattern
// of paths, before it labels that its results get ("side=base,launch=1:night/*.json"),
// behind it a selection of them ("night.log?qps=2"). A path that is there as it is written
// is taken as it is, and a dash is the standard input. Of several files, those that can be read
// are read: then there are results beside the error, which names the others.
func ReadForeign(arg string, opt convert.ReadOptions, stdin io.Reader) ([]convert.Run, error) {
	labels, selector := map[string]string(nil), convert.Selector{Path: arg}
	if _, err := os.Stat(arg); err != nil {
		var rest string
		labels, rest = convert.ParseLabels(arg)
		if selector, err = convert.ParseSelector(rest); err != nil {
			return nil, err
		}
	}
	paths, err := matching(selector.Path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(selector.Path)
	folder := err == nil && info.IsDir() && !IsRunDir(selector.Path)
	if folder {
		if paths, err = inFolder(selector.Path); err != nil {
			return nil, err
		}
	}
	var runs []convert.Run
	var unread, others []error // others are files of a folder beside the results
	for _, path := range paths {
		var more []convert.Run
		if path == "-" && stdin != nil {
			more, err = convert.Read(stdin, "standard input", opt)
		} else {
			more, err = readForeignFile(path, opt)
		}
		if folder && errors.Is(err, convert.ErrNoResult) {
			others = append(others, err)
			continue
		}
		if err != nil {
			unread = append(unread, err)
		}
		runs = append(runs, more...)
	}
	if len(runs) == 0 {
		return nil, errors.Join(append(unread, others...)...)
	}
	convert.Label(runs, labels)
	runs, err = selector.Select(runs)
	return runs, errors.Join(append(unread, err)...)
}

// matching are the files that a path names, in order. Shells expand no pattern behind a
// label.
func matching(path string) ([]string, error) {
	if _, err := os.Stat(path); err == nil || !strings.ContainsAny(path, "*[") {
		return []string{path}, nil
	}
	paths, err := filepath.Glob(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no file matches %s", path)
	}
	slices.Sort(paths)
	return paths, nil
}

// IsRunDir reports whether a folder is a run directory of ours.
func IsRunDir(path string) bool {
	_, err := os.Stat(filepath.Join(path, store.ResultsFile))
	return err == nil
}

// resultFiles are the endings of files that a folder of results is taken to hold.
var resultFiles = []string{".json", ".jsonl", ".csv", ".log", ".txt", ".md", ".yaml", ".yml", ".gz"}

// inFolder returns the result files of a folder, whose own folders are not read.
func inFolder(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files, folders []string
	for _, e := range entries {
		switch {
		case e.IsDir():
			folders = append(folders, e.Name())
		case e.Type().IsRegular() && slices.Contains(resultFiles, strings.ToLower(filepath.Ext(e.Name()))):
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	switch {
	case len(files) > 0:
		return files, nil
	case len(folders) > 0:
		return nil, fmt.Errorf("%s is a folder without %s and without result files (%s); its folders are %s: name one of them, or files: '%s'",
			path, store.ResultsFile, strings.Join(resultFiles, " "), strings.Join(folders[:min(len(folders), 5)], ", "),
			filepath.Join(path, "*", "*.json"))
	}
	return nil, fmt.Errorf("%s is a folder without %s, as run directories have, and without result files of other tools (%s)", path,
		store.ResultsFile, strings.Join(resultFiles, " "))
}

func readForeignFile(path string, opt convert.ReadOptions) ([]convert.Run, error) {
	if IsRunDir(path) {
		return nil, fmt.Errorf("%s: %w: use it as it is", path, convert.ErrOurs)
	}
	file, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // opened for reading
	return convert.Read(file, path, opt)
}

// JudgeResults brings results of other tools before the gates of a configuration: they fill
// the cells of its benchmarks by their parameters. past is what stored baselines are taken
// from, nil for nothing.
func JudgeResults(cfg *lang.Config, runs []convert.Run, opt convert.FitOptions, past *history.History,
	now time.Time) (*result.Document, error) {
	planned, diags := plan.Build(cfg, plan.Options{IgnoreNoise: true})
	if diags.HasErrors() {
		return nil, diags
	}
	opt.Title = cfg.Settings.Description
	doc, err := convert.Fit(runs, blank(planned), opt)
	if err != nil {
		return nil, err
	}
	doc.Started, doc.Ended, doc.Alpha = now, now, planned.Alpha
	if opt.LaunchBy != "" || opt.OneLaunchPerFile {
		pairLaunches(planned, doc, opt.LaunchBy != "")
	}
	// What is planned is what there is: no more of it can be measured here.
	repeats := mostRuns(doc)
	p, diags := plan.Build(cfg, plan.Options{IgnoreNoise: true, Repeat: repeats})
	if diags.HasErrors() {
		return nil, diags
	}
	p.Looks, p.Targets, p.Repeats = nil, nil, nil
	for i := range p.Benchmarks {
		p.Benchmarks[i].RepeatMax = 0 // cells may have fewer, and that is no loss
	}
	options := Options(cfg, p, past)
	options.Descriptive = cmp.Or(undecidable(opt.Options, repeats), oneLaunch(runs, opt.Options), blockOrder(doc, opt.BlockOrder))
	return doc, judge.Judge(p, doc, options)
}

// blank are the benchmarks of a plan with their cells, before there is a result.
func blank(p *plan.Plan) []result.Benchmark {
	var out []result.Benchmark
	for _, b := range p.Benchmarks {
		blank := result.Benchmark{Addr: b.Addr, Description: b.Description, Axes: []string{}, Range: b.Range}
		for _, a := range b.Axes {
			blank.Axes = append(blank.Axes, a.Name)
		}
		for _, c := range b.Cells {
			blank.Cells = append(blank.Cells, result.Cell{Hash: c.Hash, Values: c.Values})
		}
		out = append(out, blank)
	}
	return out
}

// mostRuns is the largest number of launches that a cell has runs of, at least 1.
func mostRuns(doc *result.Document) int {
	most := 1
	for _, b := range doc.Benchmarks {
		for _, c := range b.Cells {
			most = max(most, convert.Repeats(c.Runs))
		}
	}
	return most
}

// undecidable says why imported results allow no decision, whatever they are, and what
// would: "" if they may.
func undecidable(opt convert.Options, repeats int) string {
	switch {
	case opt.LaunchBy == "" && !opt.OneLaunchPerFile:
		return "n = 1, since nothing distinguishes launches: say --launch-by KEY or --one-launch-per-file"
	case repeats < 2:
		return "n = 1 allows no test: measure each side in 5 launches of the server, or 2 at least"
	}
	return ""
}

// oneLaunch says which results that are declared to be of several launches are of one, "" for none.
func oneLaunch(runs []convert.Run, opt convert.Options) string {
	if why := convert.SharedLaunch(runs, opt); why != "" {
		return "what is declared to be several launches is one: " + why
	}
	return ""
}

// blockOrder says why sides that were measured one after the other allow no decision, "" where they took turns,
// where it is not known, or where that order is declared.
func blockOrder(doc *result.Document, declared bool) string {
	for _, p := range doc.Pairings {
		if p.Order == result.OrderNotAlternated && !declared {
			return fmt.Sprintf(
				"%s and %s were not measured in turn, so that the machine's drift is in the difference: alternate them, or say --block-order", p.Base,
				p.Head)
		}
	}
	return ""
}

// baselines reads the files of baselines for the cells of a plan: our own results, or
// those of another tool.
func baselines(p *plan.Plan) func(path string) (*result.Document, error) {
	return func(path string) (*result.Document, error) {
		if IsRunDir(path) {
			return ReadDocument(path)
		}
		judged := judgedBy(p, path)
		runs, err := ReadForeign(path, convert.ReadOptions{Tool: toolOf(judged)}, nil)
		if errors.Is(err, convert.ErrOurs) {
			return ReadDocument(path)
		}
		if err != nil {
			return nil, err
		}
		doc, err := convert.Fit(runs, blank(judged), convert.FitOptions{Loose: true})
		if err != nil {
			return nil, err
		}
		return doc, nil
	}
}

// judgedBy is the plan with only the benchmarks that are set beside a baseline file.
func judgedBy(p *plan.Plan, path string) *plan.Plan {
	out := *p
	out.Benchmarks = slices.DeleteFunc(slices.Clone(p.Benchmarks), func(b plan.Benchmark) bool {
		return !slices.ContainsFunc(p.Gates, func(g plan.Gate) bool { return g.BaselinePath == path && g.Benchmark == b.Addr })
	})
	return &out
}

// toolOf is the tool whose definitions hold where results do not say it: that of the
// benchmarks' drivers, "" if none says one.
func toolOf(p *plan.Plan) string {
	for _, b := range p.Benchmarks {
		for _, c := range b.Cells {
			if d := c.Workload.Driver; d != nil && d.Tool != "" {
				return d.Tool
			}
		}
	}
	return ""
}
