package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/pipeline/internal/hclfile"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// testFlags holds the flags of compare --test.
type testFlags struct {
	test   bool
	margin string
	block  bool
}

// origin names the flag that a line of the written file comes from, "" for the others.
func (f testFlags) origin(line string) string {
	if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); name == "margin" {
		return "--margin"
	}
	return ""
}

// usualMargin is the margin of compare --test where none is named. Then no difference fails the command.
const usualMargin = "5%"

func (f *testFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.test, "test", false, "test two sides of result files as gate does: intervals, p values after Holm, verdicts")
	fl.StringVar(&f.margin, "margin", "", "with --test: smallest `change` that matters, such as 5%; a regression then has exit status 1 "+
		"(5% unless set, and every exit status is 0)")
	fl.BoolVar(&f.block, "block-order", false, "with --test: judge sides that were measured one after the other and not in turn")
}

// digits separate the names of files that are numbered.
var digits = lazyregexp.New(`[0-9]+`)

// twoSides assigns arguments to the sides of a test: two arguments are the sides. Of more, those with one name= belong
// together, or those whose names differ in their numbers only, as a shell writes an unquoted pattern, or those of one
// folder, or those with one value of a number that has two. Rules that make different sides are an error.
func twoSides(args []string) ([][]string, error) {
	if len(args) == 2 {
		return [][]string{args[:1], args[1:]}, nil
	}
	rules := []func(string) string{
		func(path string) string { return digits.ReplaceAllString(path, "#") }, folderOf, twoValued(args),
	}
	var found [][]string
	for _, rule := range rules {
		groups := grouped(args, rule)
		switch {
		case len(groups) != 2:
		case found == nil:
			found = groups
		case !slices.EqualFunc(found, groups, slices.Equal[[]string]):
			return nil, fmt.Errorf("--test compares two sides, and the files can be separated as %s or as %s: give two folders, or name "+
				"them as name=A:FILE and name=B:FILE", sidesText(found), sidesText(groups))
		}
	}
	if found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("--test compares two sides, and the names of the files make %d: name them as name=A:FILE and name=B:FILE, "+
		"or quote the patterns: 'a-*.json' 'b-*.json'", len(grouped(args, rules[0])))
}

// leastPattern is the number of files above which a comparison of single files may have been meant for two sides.
const leastPattern = 3

// launchesOfTwo reports whether unnamed files, such as those of an unquoted pattern, belong to two sides.
func launchesOfTwo(args []string) bool {
	for _, arg := range args {
		if name, _, _ := sideLabels(arg); name != "" {
			return false
		}
	}
	_, err := twoSides(args)
	return err == nil
}

// sidesText names the first file of each side: "a-1.json … and b-1.json …".
func sidesText(groups [][]string) string { return groups[0][0] + " … and " + groups[1][0] + " …" }

// grouped groups arguments by their name, and those without one by a key of their path.
func grouped(args []string, key func(path string) string) [][]string {
	var groups [][]string
	at := map[string]int{}
	for _, arg := range args {
		name, _, rest := sideLabels(arg)
		if name = cmp.Or(name, sideOf(arg)); name == "" {
			name = "\x00" + key(filepath.ToSlash(rest))
		}
		i, ok := at[name]
		if !ok {
			i, groups = len(groups), append(groups, nil)
			at[name] = i
		}
		groups[i] = append(groups[i], arg)
	}
	return groups
}

// folderOf returns the folder of a path, "" without one.
func folderOf(path string) string { return path[:strings.LastIndexByte(path, '/')+1] }

// twoValued returns the rule that keeps those numbers of a path that have two values over all arguments: v0.10.2-3.json
// and v0.11.0-1.json differ in the minor version and in the patch, while the launches are more than two.
func twoValued(args []string) func(string) string {
	var values []map[string]bool
	for _, arg := range args {
		_, _, rest := sideLabels(arg)
		for i, n := range digits.FindAllString(rest, -1) {
			if i == len(values) {
				values = append(values, map[string]bool{})
			}
			values[i][n] = true
		}
	}
	return func(path string) string {
		i := -1
		return digits.ReplaceAllStringFunc(path, func(n string) string {
			if i++; i < len(values) && len(values[i]) == 2 {
				return n
			}
			return "#"
		})
	}
}

// testSides reads the sides of a test and labels their results with the side's name.
func (a *app) testSides(f compareFlags, args []string) ([]side, error) {
	groups, err := twoSides(args)
	if err != nil {
		return nil, err
	}
	sides := make([]side, len(groups))
	for i, group := range groups {
		for _, arg := range group {
			s, err := a.readSide(arg, f.results.tool)
			if errors.Is(err, convert.ErrOurs) || s.doc != nil {
				err = fmt.Errorf("%s: --test is for results of other tools: judge runs of this program with pipeline gate RUN", s.arg)
			}
			if err != nil {
				return nil, err // a test must not silently omit a launch that cannot be read
			}
			sides[i].runs = append(sides[i].runs, s.runs...)
			sides[i].arg = s.arg
			if s.name != "" {
				sides[i].name = s.name
			}
		}
		if sides[i].name == "" {
			sides[i].name = sideName(sides[i].arg, i)
		}
	}
	for _, rename := range []func([]string, int) string{folderName, commonName, letter} {
		if sides[0].name == sides[1].name || sides[0].name == "" || sides[1].name == "" {
			sides[0].name, sides[1].name = rename(groups[0], 0), rename(groups[1], 1)
		}
	}
	for _, s := range sides {
		convert.Label(s.runs, map[string]string{"side": s.name})
	}
	return sides, nil
}

var notInName = lazyregexp.New(`[^A-Za-z0-9_.-]+`)

// sideName names a side after its files, without their numbers and their extension, or after their folder; A or B where
// nothing is left.
func sideName(arg string, i int) string {
	if name := cleanName(sideOf(arg)); name != "" {
		return name
	}
	path := strings.TrimSuffix(filepath.ToSlash(arg), "/")
	folder, name := "", path
	if at := strings.LastIndexByte(path, '/'); at >= 0 {
		folder, name = path[:at], path[at+1:]
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		name = digits.ReplaceAllString(strings.TrimSuffix(name, filepath.Ext(name)), "")
	}
	for _, n := range []string{name, folder[strings.LastIndexByte(folder, '/')+1:]} {
		if n = cleanName(n); n != "" {
			return n
		}
	}
	return letter(nil, i)
}

// sideOf returns the value of the label side, by which gate --results names a side, "" without one.
func sideOf(arg string) string {
	if _, err := os.Stat(arg); err == nil {
		return ""
	}
	labels, _ := convert.ParseLabels(arg)
	return labels["side"]
}

// folderName returns the name of the folder that has the first file of a side.
func folderName(args []string, _ int) string {
	_, _, rest := sideLabels(args[0])
	return cleanName(filepath.Base(folderOf(filepath.ToSlash(rest))))
}

// commonName returns how the names of the files of a side begin.
func commonName(args []string, _ int) string {
	var common string
	for i, arg := range args {
		_, _, rest := sideLabels(arg)
		name := strings.TrimSuffix(filepath.Base(rest), filepath.Ext(rest))
		if i == 0 {
			common = name
		}
		for !strings.HasPrefix(name, common) {
			common = common[:len(common)-1]
		}
	}
	return cleanName(common)
}

func letter(_ []string, i int) string { return string(rune('A' + i)) }

// cleanName returns the part of a name that a side can be called by.
func cleanName(name string) string {
	return strings.Trim(notInName.ReplaceAllString(name, ""), "-_.")
}

// compareTest judges two sides of result files as gate judges them by the file that it writes for them.
func (a *app) compareTest(f compareFlags, t testFlags, args []string) error {
	if f.format.Document == nil {
		return exit(exitUsage, fmt.Errorf("--test: a verdict has no format %s", f.format.Name))
	}
	sides, err := a.testSides(f, args)
	if err != nil {
		return exit(exitUsage, err)
	}
	axes, names := cellAxes(f.results, sides)
	if err := documents(f.results, sides); err != nil {
		return exit(exitUsage, err)
	}
	metrics, err := testedMetrics(f.metrics, sides)
	if err != nil {
		return exit(exitUsage, err)
	}
	again := *a
	again.In = bytes.NewReader(testFile(sides, axes, metrics, t))
	again.origin = t.origin
	cfg, err := again.load(configFlags{}, []string{"-"})
	if err != nil {
		return err
	}
	fit := convert.FitOptions{Options: f.results.options("compare"), Names: names, BlockOrder: t.block}
	doc, err := judge.Imported(cfg.Config, slices.Concat(sides[0].runs, sides[1].runs), fit, nil, time.Now())
	if err != nil {
		return exit(exitUsage, err)
	}
	if err = a.printDocument(doc, f.format, reports.Options{NoGates: true}); t.margin == "" && exitStatus(err) == doc.ExitCode {
		return nil // without a margin nothing fails
	}
	return err
}

// exitStatus returns the exit code of an error that carries one.
func exitStatus(err error) int {
	if e, ok := errors.AsType[*exitError](err); ok && e.err == nil {
		return e.code
	}
	return -1
}

// cellAxes returns the axes that distinguish the cells of both sides with their values, and the parameters that hold
// them where they are called otherwise.
func cellAxes(f importFlags, sides []side) (axes hclfile.Map, names map[string]string) {
	keys := f.by
	if len(keys) == 0 {
		keys = slices.DeleteFunc(convert.CellKeys(f.options(""), sides[0].runs, sides[1].runs),
			func(key string) bool { return key == "side" || separatesSides(key, sides) })
	}
	names = map[string]string{}
	for _, key := range keys {
		var values []any
		for _, s := range sides {
			for i := range s.runs {
				if v, ok := s.runs[i].Param(key); ok && !slices.Contains(values, any(v)) {
					values = append(values, v)
				}
			}
		}
		axis := notInName.ReplaceAllString(strings.NewReplacer("-", "_", ".", "_").Replace(key), "_")
		axes, names[axis] = append(axes, hclfile.Pair{Name: axis, Value: values}), key
	}
	return axes, names
}

// usual are the metrics that are tested unless others are named: of each row the first that both sides have.
var usual = [][]string{
	{"ttft.p50", "ttft.mean"}, {"tpot.p50", "tpot.mean"}, {"itl.p50", "itl.mean"}, {"e2el.p50", "e2el.mean"}, {"output_throughput.mean"},
}

// testedMetrics returns the metrics that both sides have, or that one side has if each run of the other failed.
func testedMetrics(named []string, sides []side) ([]string, error) {
	has := func(i int, id string) bool { return hasMetric(sides[i].doc, id) }
	failed := [2]bool{allFailed(sides[0].doc), allFailed(sides[1].doc)}
	both := func(id string) bool {
		return (has(0, id) || failed[0]) && (has(1, id) || failed[1]) && (has(0, id) || has(1, id))
	}
	if len(named) == 0 {
		var out []string
		for _, row := range usual {
			if i := slices.IndexFunc(row, both); i >= 0 {
				out = append(out, row[i])
			}
		}
		if len(out) == 0 {
			return nil, errors.New("--test: the sides share none of the usual metrics: name some with --metric")
		}
		return out, nil
	}
	if err := knownMetrics(named, []reports.Side{{Doc: sides[0].doc}, {Doc: sides[1].doc}}); err != nil {
		return nil, err
	}
	return named, nil
}

// allFailed reports whether no run of a side succeeded.
func allFailed(doc *result.Document) bool {
	for _, b := range doc.Benchmarks {
		for _, c := range b.Cells {
			if slices.ContainsFunc(c.Runs, func(r result.Run) bool { return r.Status == result.RunOK }) {
				return false
			}
		}
	}
	return true
}

// testFile returns the pipeline file of a test.
func testFile(sides []side, axes hclfile.Map, metrics []string, t testFlags) []byte {
	var file hclfile.Body
	b := file.Block("benchmark", "results")
	matrix := b.Block("matrix")
	matrix.Set("side", []string{sides[0].name, sides[1].name})
	for _, axis := range axes {
		matrix.Set(axis.Name, axis.Value)
	}
	b.Block("driver", "results")
	paired := file.Block("baseline", "paired", "first")
	paired.Set("axis", "side")
	paired.Set("value", sides[0].name)
	gate := file.Block("gate", "test")
	gate.Set("benchmark", hclfile.Expr("benchmark.results"))
	gate.Set("baseline", hclfile.Expr("baseline.paired.first"))
	var list []any
	for _, id := range metrics {
		list = append(list, hclfile.Expr("metric."+id))
	}
	gate.Set("metrics", list)
	gate.Set("margin", cmp.Or(t.margin, usualMargin))
	return file.Bytes()
}
