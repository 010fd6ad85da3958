package lang_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"pgregory.net/rapid"
)

// The order of blocks, and their distribution over files, changes nothing but the order
// of lists.
func TestOrderOfBlocksDoesNotMatter(t *testing.T) {
	src, err := os.ReadFile("testdata/valid/ab.hcl")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.SplitAfter(string(src), "\n}\n")
	registry := testRegistry(t)
	args := []lang.VarArg{{Name: "repeats", Text: "4"}, {Name: "token", Text: "correct-horse-battery"}}
	want := ""
	rapid.Check(t, func(rt *rapid.T) {
		shuffled := rapid.Permutation(blocks).Draw(rt, "order")
		cut := rapid.IntRange(0, len(shuffled)).Draw(rt, "cut")
		dir := t.TempDir()
		paths := []string{filepath.Join(dir, "a.hcl"), filepath.Join(dir, "b.hcl")}
		for i, part := range [][]string{shuffled[:cut], shuffled[cut:]} {
			if err := os.WriteFile(paths[i], []byte(strings.Join(part, "\n")), 0o644); err != nil {
				rt.Fatal(err)
			}
		}
		cfg, diags := lang.Load(lang.Options{Paths: paths, Registry: registry, Formats: formats, Vars: args})
		if len(diags) > 0 {
			rt.Fatal(diags)
		}
		got := canonical(rt, cfg)
		if want == "" {
			want = got
		}
		if got != want {
			rt.Fatalf("got:\n%s\nwant:\n%s", got, want)
		}
	})
}

// canonical is a view of a configuration with its lists sorted by their text.
func canonical(t *rapid.T, cfg *lang.Config) string {
	var lines []string
	for name, list := range describe(cfg) {
		items, ok := list.([]any)
		if !ok {
			items = []any{list}
		}
		for _, item := range items {
			text, err := json.Marshal(item)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, name+" "+string(text))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// The cells are the product of the axes less what is excluded, each once, in the order of
// the file with the last axis fastest.
func TestMatrixIsTheProductInSourceOrder(t *testing.T) {
	registry := testRegistry(t)
	rapid.Check(t, func(rt *rapid.T) {
		axes := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 4).Draw(rt, "axes")
		bound := rapid.IntRange(0, 20).Draw(rt, "bound")
		names := rapid.Permutation([]string{"z", "a", "m", "b"}).Draw(rt, "names")[:len(axes)]
		var matrix, sum strings.Builder
		for i, n := range axes {
			fmt.Fprintf(&matrix, "    %s = range(%d)\n", names[i], n)
			fmt.Fprintf(&sum, " + matrix.%s", names[i])
		}
		src := strings.Replace(assertFile, "    rate = [4, 8]\n", matrix.String()+"\n    exclude {\n      when = 0"+sum.String()+
			fmt.Sprintf(" > %d\n    }\n", bound), 1)
		src = strings.ReplaceAll(src[:strings.Index(src, "gate ")], "matrix.rate", "4")
		path := filepath.Join(t.TempDir(), "m.hcl")
		if err := os.WriteFile(path, []byte(src), 0o644); err != nil {
			rt.Fatal(err)
		}
		cfg, diags := lang.Load(lang.Options{Paths: []string{path}, Registry: registry})
		if diags.HasErrors() {
			rt.Fatal(diags)
		}
		var want []string
		excluded := 0
		count(axes, nil, func(at []int) {
			total := 0
			for _, x := range at {
				total += x
			}
			if total > bound {
				excluded++
				return
			}
			want = append(want, fmt.Sprint(at))
		})
		var got []string
		for _, c := range cfg.Benchmarks[0].Cells {
			at := make([]string, len(c.Values))
			for i, v := range c.Values {
				at[i] = v.Value
			}
			got = append(got, "["+strings.Join(at, " ")+"]")
		}
		if !slices.Equal(got, want) || cfg.Benchmarks[0].Excluded != excluded {
			rt.Fatalf("cells %v (%d excluded), want %v (%d)", got, cfg.Benchmarks[0].Excluded, want, excluded)
		}
	})
}

// count visits the product of ranges, the last fastest.
func count(sizes, at []int, visit func([]int)) {
	if len(at) == len(sizes) {
		visit(at)
		return
	}
	for i := range sizes[len(at)] {
		count(sizes, append(slices.Clip(at), i), visit)
	}
}

func TestNoInputIsAProblemNotAPanic(t *testing.T) {
	cfg, diags := lang.Load(lang.Options{Paths: []string{filepath.Join(t.TempDir(), "none.hcl")}, Registry: testRegistry(t)})
	if !diags.HasErrors() || cfg == nil || cfg.Sources == nil {
		t.Errorf("got %v, %v", cfg, diags)
	}
	cfg, diags = lang.Load(lang.Options{Paths: []string{"-"}, Stdin: strings.NewReader(""), Registry: testRegistry(t)})
	if len(diags) != 1 || diags[0].Subject == nil || cfg.Settings.Alpha != 0.05 {
		t.Errorf("an empty file: got %+v, %v", cfg.Settings, diags)
	}
}

func FuzzLoad(f *testing.F) {
	seeds, err := filepath.Glob("testdata/*/*.hcl")
	if err != nil {
		f.Fatal(err)
	}
	more, err := filepath.Glob("testdata/invalid/*/*.hcl")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range append(seeds, more...) {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if len(src) < 10_000 {
			f.Add(string(src))
		}
	}
	registry := testRegistry(f)
	f.Fuzz(func(t *testing.T, src string) {
		cfg, diags := lang.Load(lang.Options{
			Paths: []string{"-"}, Stdin: strings.NewReader(src), Registry: registry, Version: "0.3.0", MaxCells: 200,
			Vars: []lang.VarArg{{Name: "token", Text: "correct-horse-battery", Origin: "--var"}},
		})
		if cfg == nil || cfg.Sources == nil {
			t.Fatal("no configuration to show the problems with")
		}
		for _, d := range diags {
			if strings.Contains(d.Summary+d.Detail, "correct-horse-battery") {
				t.Errorf("a secret is shown: %s", d)
			}
		}
		if diags.HasErrors() {
			return
		}
		for _, s := range cfg.Servers {
			if _, err := cfg.ResolveServer(s.Addr, nil); err != nil && !s.Late {
				t.Errorf("%s is valid and cannot be resolved: %v", s.Addr, err)
			}
		}
		for _, b := range cfg.Benchmarks {
			for _, c := range b.Cells {
				if c.Workload.Driver == nil && (c.Target == "" || c.Workload.Load.Arrival == "") {
					t.Errorf("%s has an incomplete cell: %+v", b.Addr, c)
				}
			}
		}
	})
}

// BenchmarkValidate measures a file of 1,000 cells and two gates on each.
func BenchmarkValidate(b *testing.B) {
	src := strings.Replace(assertFile, "rate = [4, 8]", "rate = range(1, 11)\n    x = range(10)\n    side = range(10)", 1) + `
baseline "paired" "base" {
  axis  = "side"
  value = 0
}

gate "latency" {
  benchmark = benchmark.b
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p99, metric.tpot.mean]
  where     = matrix.x < 9
  margin    = "5%"
}
`
	path := write(b, src)
	registry := testRegistry(b)
	for b.Loop() {
		cfg, diags := lang.Load(lang.Options{Paths: []string{path}, Registry: registry})
		if diags.HasErrors() || len(cfg.Benchmarks[0].Cells) != 1000 {
			b.Fatal(diags)
		}
	}
}
