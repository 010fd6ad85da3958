package main_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// order is the whole order of import below pipeline/internal, from the top: a package may
// import what is in the rows below its own, and nothing of its row. Those with a slash stand
// for themselves alone.
var order = [][]string{
	{"cli"},
	{"session"},
	{"target", "place/local", "place/dockerhost", "place/slurmjob", "place/kubernetes", "place/stack", "place/virtual"},
	{"place"},
	{"machine"},
	{"engine"},
	{"judge", "calibrate"},
	{"bisect"},
	{"plan", "doctor", "reference"},
	{"lang"},
	{"trends", "driver", "lang/function"},
	{"history", "convert", "lang/syntax"},
	{"store", "ui", "ab", "adopt"},
	{"config", "event", "counted", "recorder", "answers", "capacity", "comparability", "lang/diag", "lang/meter", "pairing", "scratch",
		"spawn", "regular", "git", "profile", "hclfile", "hub"},
}

func TestOrderOfImport(t *testing.T) {
	row := map[string]int{}
	for i, names := range order {
		for _, name := range names {
			row[name] = i
		}
	}
	for _, line := range goList(t, "{{.ImportPath}}: {{join .Imports \" \"}}") {
		path, imports, _ := strings.Cut(line, ": ")
		pkg, internal := strings.CutPrefix(path, module+"pipeline/internal/")
		if !internal {
			continue
		}
		own, listed := row[pkg]
		if !listed {
			t.Errorf("%s has no row in order", pkg)
			continue
		}
		for imported := range strings.FieldsSeq(imports) {
			name, ours := strings.CutPrefix(imported, module+"pipeline/internal/")
			if below, ok := row[name]; ours && ok && below <= own {
				t.Errorf("%s imports %s, which is not below it", pkg, name)
			}
		}
	}
}

// TestEnginesAndLaunchersAreApart: what renders a process knows nothing of what starts it.
func TestEnginesAndLaunchersAreApart(t *testing.T) {
	engines := []string{"steps/vllm", "steps/sglang", "steps/openai", "steps/engine"}
	launchers := []string{"steps/process", "steps/docker", "steps/slurm", "steps/kubernetes"}
	for _, line := range goList(t, "{{.ImportPath}}: {{join .Deps \" \"}}") {
		path, deps, _ := strings.Cut(line, ": ")
		pkg := strings.TrimPrefix(path, module)
		other := launchers
		if slices.Contains(launchers, pkg) {
			other = engines
		} else if !slices.Contains(engines, pkg) {
			continue
		}
		for dep := range strings.FieldsSeq(deps) {
			if slices.Contains(other, strings.TrimPrefix(dep, module)) {
				t.Errorf("%s reaches %s", pkg, dep)
			}
		}
	}
}

// placement finds code that behaves differently for a kind of place that it knows.
var placement = regexp.MustCompile(
	`Settings\.(Slurm|Docker|Kubernetes)\b|[!=]= ?(plan\.SimulateVirtual|result\.SimulatedVirtual)|\bslurm\.New\(|\bdocker\.New\(|\bkubernetes\.New\(`)

// knowPlaces may distinguish kinds of places, and why.
var knowPlaces = map[string]string{
	"pipeline/internal/place/dockerhost": "it is one",
	"pipeline/internal/place/slurmjob":   "it is one",
	"pipeline/internal/place/kubernetes": "it is one",
	"pipeline/internal/place/virtual":    "it is one",
	"steps/docker":                       "starts containers",
	"steps/slurm":                        "starts steps of a job",
	"steps/kubernetes":                   "starts Pods",
	"pipeline/internal/lang":             "decodes the blocks",
	"pipeline/internal/plan":             "lays repeats out side by side on nodes, and says what a plan is",
	"pipeline/internal/doctor":           "lists what a file needs of this machine, which a host elsewhere has not",
	"pipeline/internal/ui":               "says what a run is",
	"pipeline/internal/cli":              "has the flag --simulate, and commands of their own for hosts and jobs",
	"reports":                            "says what a result is worth",
}

func TestKindsOfPlacesStayInTheirPackages(t *testing.T) {
	t.Parallel()
	known := func(pkg string) bool { return knowPlaces[pkg] != "" }
	stay(t, placement, known, "ask the place (package place)")
}
