package lang_test

import (
	"slices"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/lang"
)

func loadFile(t *testing.T, path string) *lang.Config {
	t.Helper()
	cfg, diags := lang.Load(lang.Options{Paths: []string{path}, Registry: testRegistry(t)})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return cfg
}

func TestResolveServer(t *testing.T) {
	cfg := loadFile(t, "testdata/valid/late.hcl")
	outputs := map[string]map[string]string{
		"step.exec.build[\"base\"]": {"image": "img:base", "seed": "1"},
		"step.exec.build[\"head\"]": {"image": "img:head", "seed": "2"},
	}
	spec, err := cfg.ResolveServer(`server.vllm.sut["base"]`, outputs)
	if err != nil {
		t.Fatal(err)
	}
	if spec.Image != "img:base" || spec.Args[0].Value != "2" || spec.Env[0].Value != "x-img:base" {
		t.Errorf("got %+v", spec)
	}
}

func TestResolveServerSaysWhatIsMissing(t *testing.T) {
	cfg := loadFile(t, "testdata/valid/late.hcl")
	_, err := cfg.ResolveServer(`server.vllm.sut["base"]`, map[string]map[string]string{})
	if err == nil {
		t.Error("resolved without the outputs that it needs")
	}
	if _, err := cfg.ResolveServer("server.vllm.nobody", nil); err == nil {
		t.Error("resolved a server that does not exist")
	}
}

func TestResolveStep(t *testing.T) {
	cfg := loadFile(t, "testdata/valid/late.hcl")
	o, err := cfg.ResolveStep(`step.exec.build["head"]`, map[string]map[string]string{"step.exec.tag": {"sha": "abc"}})
	if err != nil {
		t.Fatal(err)
	}
	words, err := o.Texts("command")
	if want := []string{"make", "image", "TAG=abc", "head"}; err != nil || !slices.Equal(words, want) {
		t.Errorf("command %q (%v), want %q", words, err, want)
	}
	if _, err := cfg.ResolveStep(`step.exec.build["head"]`, nil); err == nil {
		t.Error("resolved without the outputs that it needs")
	}
}

func TestStepsComeAfterWhatTheyDependOn(t *testing.T) {
	cfg := load(t, `
step "exec" "c" {
  command    = ["c"]
  depends_on = [step.exec.b]
}

step "exec" "b" {
  command = ["b", step.exec.a.outputs.x]
}

step "exec" "a" {
  command = ["a"]
  outputs = ["x"]
}
`)
	var got []string
	for _, s := range cfg.Steps {
		got = append(got, s.Addr)
	}
	if want := []string{"step.exec.a", "step.exec.b", "step.exec.c"}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}
