package flags

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
)

// history has the features of the format: additions, a change, removals, an opposite.
const history = `
# a comment
= 1.0.0
+ --alpha,-a int
+ --beta str
+ --level choice low|high
= 1.0.0.post1
+ --enable-log,!--disable-log bool
= 1.2.0
- --beta
+ --alpha,-a,--alef float
+ --altogether true
`

func toy(t *testing.T, text string) []*Table {
	t.Helper()
	tables, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

func TestParse(t *testing.T) {
	tables := toy(t, history)
	var got []string
	for _, table := range tables {
		got = append(got, table.Version+": "+strings.Join(table.Names(), " "))
	}
	want := []string{
		"1.0.0: --alpha --beta --level",
		"1.0.0.post1: --alpha --beta --enable-log --level",
		"1.2.0: --alpha --altogether --enable-log --level",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, want := range map[string]Kind{"--alef": Float, "-a": Float, "--disable-log": Off, "--no-enable-log": Off,
		"--enable-log": OnOff, "--beta": ""} {
		if def, _ := tables[2].Lookup(name); def.Kind != want {
			t.Errorf("%s is %q, want %q", name, def.Kind, want)
		}
	}
	if def, _ := tables[0].Lookup("-a"); def.Kind != Int || def.Name != "--alpha" {
		t.Errorf("the oldest has %+v", def)
	}
}

func TestComplete(t *testing.T) {
	table := toy(t, history)[2]
	for name, want := range map[string]string{
		"--alpha": "--alpha", "--alp": "--alpha", "--al": "--alpha --altogether", "--le": "--level", "--dis": "--enable-log",
		"--zeta": "", "--": "", "-a": "--alpha", "-l": "",
	} {
		var got []string
		for _, d := range table.Complete(name) {
			got = append(got, d.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s stands for %v, want %s", name, got, want)
		}
	}
}

// TestExact: a parser that completes nothing knows whole names alone.
func TestExact(t *testing.T) {
	table := toy(t, "exact\n"+history)[2]
	if got := table.Complete("--alp"); len(got) != 0 {
		t.Errorf("--alp stands for %v", got)
	}
	if got := table.Complete("--alef"); len(got) != 1 || got[0].Name != "--alpha" {
		t.Errorf("--alef stands for %v", got)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, line := range []string{
		"+ --a", "+ --a word", "+ --a choice", "+ --a int x|y", "+ a int", "+ --a,b int", "+ !--a bool", "+ --a,!--b int", "--a int", "= 0.9.0",
		"= 1.0.0", "* --a",
	} {
		if tables, err := parse("= 1.0.0\n" + line); err == nil {
			t.Errorf("%q was read as %d versions", line, len(tables))
		}
	}
	if _, err := parse("+ --a int"); err == nil {
		t.Error("a flag of no version was read")
	}
}

// TestLists reads every list of the program.
func TestLists(t *testing.T) {
	common := map[string][]string{"vllm": {"--max-model-len", "--seed", "--dtype"}, "sglang": {"--context-length", "--tp-size", "--dtype"},
		"llamacpp": {"--ctx-size", "-ngl", "--parallel", "--no-kv-offload", "-nkvo"},
		"trtllm":   {"--max-seq-len", "--tp-size", "--extra-llm-api-options"}}
	least := map[string]int{"trtllm": 20} // most of its settings are in its file of options
	for engine, names := range common {
		if len(index(engine)) < 2 {
			t.Errorf("%s has %d lists", engine, len(index(engine)))
		}
		for _, table := range index(engine) {
			if len(table.Names()) < cmp.Or(least[engine], 80) {
				t.Errorf("%s %s: only %d flags", engine, table.Version, len(table.Names()))
			}
			for _, name := range names {
				if _, ok := table.Lookup(name); !ok {
					t.Errorf("%s %s has no %s", engine, table.Version, name)
				}
			}
		}
	}
}

func TestCompare(t *testing.T) {
	ordered := []string{"0.6.3.post1", "0.6.4rc1", "0.6.4", "0.6.4.post1", "0.6.4.post2", "0.6.5.dev3+g1", "0.6.5", "0.11"}
	for i, a := range ordered {
		for j, b := range ordered {
			got, want := compare(a, b), i-j
			if (got < 0) != (want < 0) || (got > 0) != (want > 0) {
				t.Errorf("compare(%s, %s) = %d", a, b, got)
			}
		}
	}
	for _, same := range []string{"v0.6.4", "0.6.4+cpu", "0.6.4-cu129"} {
		if compare(same, "0.6.4") != 0 {
			t.Errorf("%s is not 0.6.4", same)
		}
	}
}

// TestFor holds for whatever lists there are: a listed version has its own, any other has
// the nearest ones, the older first.
func TestFor(t *testing.T) {
	for engine := range lists {
		tables := index(engine)
		last := tables[len(tables)-1].Version
		for i, table := range tables {
			prefix, build := "v", strings.HasPrefix(table.Version, "b") // builds have neither prefix nor candidates
			if build {
				prefix = ""
			}
			known := For(engine, prefix+table.Version)
			if !known.Own || len(known.Tables) != 1 || known.Tables[0] != table {
				t.Errorf("%s %s: %+v", engine, table.Version, known)
			}
			if i == 0 || build || strings.Contains(table.Version, "post") {
				continue
			}
			known = For(engine, table.Version+"rc1")
			if known.Own || len(known.Tables) != 2 || known.Tables[0] != tables[i-1] || known.Tables[1] != table {
				t.Errorf("%s, a candidate of %s: %+v", engine, table.Version, known)
			}
		}
		for _, version := range []string{"", "latest", "nightly.1", last + ".1"} {
			known := For(engine, version)
			if known.Own || len(known.Tables) != 1 || known.Tables[0].Version != last {
				t.Errorf("%s %q: %+v", engine, version, known)
			}
		}
		if known := For(engine, "0.0.1"); known.Own || len(known.Tables) != 1 || known.Tables[0] != tables[0] {
			t.Errorf("%s 0.0.1: %+v", engine, known)
		}
	}
	if known := For("openai", "1.0"); len(known.Tables) > 0 || known.Own {
		t.Errorf("openai: %+v", known)
	}
	if _, ok := Nearest("openai", ""); ok {
		t.Error("openai has lists")
	}
	newest, _ := Nearest("vllm", "")
	for _, version := range []string{"nightly", "0f3a2b1c"} {
		if table, _ := Nearest("vllm", version); table != newest {
			t.Errorf("%s is taken for %s, want the newest", version, table.Version)
		}
	}
	if table, _ := Nearest("vllm", "0.1"); table != index("vllm")[0] {
		t.Errorf("before all there is %s", table.Version)
	}
}

func TestHaving(t *testing.T) {
	runs := Having("vllm", "--num-scheduler-steps") // of the engine before V1
	if len(runs) != 1 || steps.CompareReleases(runs[0][1], "0.8.0") < 0 || steps.CompareReleases(runs[0][1], "0.11.0") >= 0 {
		t.Errorf("--num-scheduler-steps is in %v", runs)
	}
}
