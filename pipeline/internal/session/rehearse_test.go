package session_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/place/virtual"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/sglang"
	"github.com/servegate/pipeline/steps/vllm"
)

var simulators = map[string]steps.Engine{"vllm": vllm.New(), "sglang": sglang.New()}

// loadFile reads a pipeline file with variables, each as "name=value".
func loadFile(t *testing.T, file string, vars ...string) *config.Config {
	t.Helper()
	registry, err := steps.NewRegistry(append(dataset.All().Blocks(), vllm.Kind(), sglang.Kind())...)
	if err != nil {
		t.Fatal(err)
	}
	o := lang.Options{Paths: []string{file}, Registry: registry, Formats: reports.AllFormats().Names(), Env: func() []string { return nil }}
	for _, v := range vars {
		name, text, _ := strings.Cut(v, "=")
		o.Vars = append(o.Vars, lang.VarArg{Name: name, Text: text, Origin: "test"})
	}
	cfg, diags := lang.Load(o)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return cfg.Config
}

// loadExample reads the file of an example.
func loadExample(t *testing.T, name string, vars ...string) *config.Config {
	t.Helper()
	return loadFile(t, "../../../examples/"+name+"/"+name+".pipeline.hcl", vars...)
}

// eachWorkload changes the workload of every cell.
func eachWorkload(cfg *config.Config, change func(*steps.Workload)) *config.Config {
	for _, b := range cfg.Benchmarks {
		for i := range b.Cells {
			change(&b.Cells[i].Workload)
		}
	}
	return cfg
}

// rehearse plans a configuration and models its servers.
func rehearse(t *testing.T, cfg *config.Config) *session.Rehearsal {
	t.Helper()
	r, _ := rehearsePlan(t, cfg)
	return r
}

func rehearsePlan(t *testing.T, cfg *config.Config) (*session.Rehearsal, *plan.Plan) {
	t.Helper()
	p, diags := plan.Build(cfg, plan.Options{File: "example", Simulated: "process", TimeScale: 1})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	r, err := session.NewRehearsal([]place.Kind{virtual.Kind()}, p, simulators, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r, p
}
