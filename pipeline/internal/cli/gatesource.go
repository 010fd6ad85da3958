package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/reports/github"
	"github.com/spf13/cobra"
)

// sourceFlags say which gates judge: those of the pipeline that is run, or those of the
// branch that a change is proposed for.
type sourceFlags struct {
	base   string
	source string
}

const (
	gatesOfHead = "head"
	gatesOfBase = "base"
)

func (f *sourceFlags) register(cmd *cobra.Command) {
	f.source = gatesOfHead
	cmd.Flags().StringVar(&f.base, "base-file", "", "the pipeline `file` or folder as it was before the change: what is told of the run says how its gates differ")
	cmd.Flags().Var(choice{&f.source, []string{gatesOfHead, gatesOfBase}}, "gate-source", "judge by the gates of the pipeline itself (head) or by those of --base-file (base)")
}

// gates compares the gates of a pipeline with those before the change, and lets these
// judge if that is wanted. It comes before the plan. What cannot be compared is an error
// only where the gates before the change are to judge.
func (a *app) gates(f sourceFlags, config configFlags, head *lang.Config) ([]github.GateChange, error) {
	if f.base == "" {
		if f.source == gatesOfBase {
			return nil, errors.New("--gate-source base needs --base-file")
		}
		return nil, nil
	}
	if _, err := os.Stat(f.base); errors.Is(err, fs.ErrNotExist) && f.source == gatesOfHead {
		return nil, nil // the change brings the first pipeline file
	}
	base, diags, err := a.read(config, []string{f.base})
	if err == nil && diags.HasErrors() {
		err = errors.New(diags.Errs()[0].Error())
	}
	if err != nil {
		err = fmt.Errorf("the pipeline before the change cannot be read: %w", err)
		if f.source == gatesOfBase {
			return nil, err
		}
		a.warn("nobody is told how the gates differ: " + err.Error())
		return nil, nil
	}
	changes := gateChanges(base, head)
	if f.source == gatesOfBase {
		return changes, judgeByBase(base, head)
	}
	return changes, nil
}

// setting of a gate, as text.
type setting struct {
	name, value string
	// fixed settings say what is judged rather than how strictly.
	fixed bool
}

func settingsOf(cfg *lang.Config, g *lang.Gate) []setting {
	var metrics []string
	for _, m := range g.Metrics {
		metrics = append(metrics, m.ID)
	}
	slices.Sort(metrics)
	return []setting{
		{"benchmark", g.Benchmark, true}, {"baseline", g.Baseline, true}, {"cells", cellsOf(cfg, g), true}, {"assert", assertOf(cfg, g), true},
		{"metrics", strings.Join(metrics, ", "), false}, {"margin", share(g.Margin), false}, {"alpha", share(cmp.Or(g.Alpha, cfg.Settings.Alpha)), false},
		{"test", g.Test, false}, {"strict", strconv.FormatBool(g.Strict), false}, {"allow_overload", strconv.FormatBool(g.AllowOverload), false},
		{"on_regression", string(g.OnRegression), false}, {"on_inconclusive", string(g.OnInconclusive), false}, {"on_missing", string(g.OnMissing), false},
		{"on_invalid", string(g.OnInvalid), false}, {"on_unproven_transport", string(g.OnUnprovenTransport), false},
	}
}

func share(x float64) string {
	if x == 0 {
		return ""
	}
	return strconv.FormatFloat(100*x, 'g', 4, 64) + " %"
}

// cellsOf lists the cells that a gate is about.
func cellsOf(cfg *lang.Config, g *lang.Gate) string {
	i := slices.IndexFunc(cfg.Benchmarks, func(b *lang.Benchmark) bool { return b.Addr == g.Benchmark })
	if i < 0 {
		return ""
	}
	var cells []string
	for _, c := range g.Cells {
		var values []string
		for _, v := range cfg.Benchmarks[i].Cells[c].Values {
			values = append(values, v.Axis+"="+v.Text)
		}
		cells = append(cells, strings.Join(values, " "))
	}
	return strings.Join(cells, ", ")
}

// assertOf is the source text of a limit.
func assertOf(cfg *lang.Config, g *lang.Gate) string {
	if g.Assert == nil {
		return ""
	}
	r := g.Assert.Condition.Range()
	file := cfg.Sources.Map()[r.Filename]
	if file == nil || !r.CanSliceBytes(file.Bytes) {
		return "assert"
	}
	return string(r.SliceBytes(file.Bytes))
}

func gateOf(cfg *lang.Config, addr string) *lang.Gate {
	i := slices.IndexFunc(cfg.Gates, func(g *lang.Gate) bool { return g.Addr == addr })
	if i < 0 {
		return nil
	}
	return cfg.Gates[i]
}

// gateChanges lists what a change does to the gates, in the order of the gates before it.
func gateChanges(base, head *lang.Config) []github.GateChange {
	var out []github.GateChange
	for _, before := range base.Gates {
		after := gateOf(head, before.Addr)
		if after == nil {
			out = append(out, github.GateChange{Gate: before.Addr, Setting: "removed"})
			continue
		}
		now := settingsOf(head, after)
		for i, was := range settingsOf(base, before) {
			if was.value != now[i].value {
				out = append(out, github.GateChange{Gate: before.Addr, Setting: was.name, Old: was.value, New: now[i].value})
			}
		}
	}
	for _, g := range head.Gates {
		if gateOf(base, g.Addr) == nil {
			out = append(out, github.GateChange{Gate: g.Addr, Setting: "new"})
		}
	}
	return out
}

// judgeByBase lets the gates be as strict as they were before the change. What they judge
// has to be the same: there is no telling whether another benchmark, other cells or another
// limit say as much.
func judgeByBase(base, head *lang.Config) error {
	for _, before := range base.Gates {
		after := gateOf(head, before.Addr)
		if after == nil {
			return fmt.Errorf("%s is missing, and the gates before the change judge (--gate-source base): keep it, or merge its removal first", before.Addr)
		}
		now := settingsOf(head, after)
		for i, was := range settingsOf(base, before) {
			if was.fixed && was.value != now[i].value {
				return fmt.Errorf("%s has another %s than before the change (%q, now %q), and the gates before the change judge (--gate-source base): merge that first",
					before.Addr, was.name, was.value, now[i].value)
			}
		}
		after.Metrics, after.Margin, after.Alpha, after.Test = before.Metrics, before.Margin, before.Alpha, before.Test
		after.Strict, after.AllowOverload = before.Strict, before.AllowOverload
		after.OnRegression, after.OnInconclusive, after.OnMissing = before.OnRegression, before.OnInconclusive, before.OnMissing
		after.OnInvalid, after.OnUnprovenTransport = before.OnInvalid, before.OnUnprovenTransport
	}
	head.Settings.Alpha = base.Settings.Alpha
	return nil
}
