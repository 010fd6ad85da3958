package ab_test

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/pipeline/internal/ab"
)

// machine has some programs, a model, a repository with two tags, and a token where it is asked for.
func machine(token bool) ab.Machine {
	programs := []string{"./llama-server", "./old/llama-server", "/opt/main/bin/vllm", "/opt/pr/bin/vllm", "python3", "/usr/bin/serve"}
	commits := map[string]string{"v1": strings.Repeat("1", 40), "v2": strings.Repeat("2", 40), "HEAD~1": strings.Repeat("1", 40)}
	return ab.Machine{
		Program: func(word string) bool { return slices.Contains(programs, word) },
		Local:   func(path string) bool { return path == "/models/tiny" || path == "tiny.gguf" },
		Commit: func(ref string) (string, error) {
			if commit, ok := commits[ref]; ok {
				return commit, nil
			}
			return "", errors.New("git rev-parse: no ref " + ref)
		},
		Token: token, HubCache: "/home/u/.cache/huggingface",
	}
}

// write fills in defaults and writes the file of a request.
func write(r ab.Request, token bool) ([]byte, error) {
	d := ab.Defaults()
	r.InputLen, r.OutputLen = cmp.Or(r.InputLen, d.InputLen), cmp.Or(r.OutputLen, d.OutputLen)
	r.Requests, r.Repeats, r.Margin = cmp.Or(r.Requests, d.Requests), cmp.Or(r.Repeats, d.Repeats), cmp.Or(r.Margin, d.Margin)
	return ab.Write(r, machine(token))
}

const (
	old  = "vllm/vllm-openai:v0.10.2"
	next = "vllm/vllm-openai:v0.11.0"
	qwen = "Qwen/Qwen2.5-7B-Instruct"
)

// TestFiles compares what is written with files that a person would write. pipeline/testdata/script/ab.txtar runs such.
func TestFiles(t *testing.T) {
	two, none := 2, 0
	for name, tt := range map[string]struct {
		request ab.Request
		token   bool
	}{
		"images": {request: ab.Request{Base: old, Head: next, Model: qwen, Rates: []string{"2", "4"}, Budget: "2h"}},
		"images-and-argument": {token: true, request: ab.Request{Base: old, Head: next, Model: qwen, GPUs: &two,
			Args: []string{"max-model-len=8192"}, HeadArgs: []string{"--enable-prefix-caching=false"}}},
		"argument": {request: ab.Request{Base: "lmsysorg/sglang:v0.5.4", Model: "/models/tiny", Concurrency: []string{"1", "16"},
			GPUs: &two, HeadArgs: []string{"chunked_prefill_size=2048"}}},
		"json": {request: ab.Request{Base: next, Model: qwen, GPUs: &none,
			HeadArgs: []string{`speculative_config={"method": "ngram", "num_speculative_tokens": 4}`}}},
		"programs": {request: ab.Request{Base: "./old/llama-server", Head: "./llama-server", Model: "tiny.gguf",
			Args: []string{"parallel=2"}, Margin: "10%", Repeats: 6, Requests: 40, InputLen: 64, OutputLen: 16}},
		"words": {request: ab.Request{
			Base: "python3 serve.py --threads 2", Head: "python3 serve.py --threads 4", Model: "tiny", Engine: "openai",
		}},
		"commits": {request: ab.Request{Base: "HEAD~1", Head: "v2", Model: "tiny.gguf", Program: "build/bin/llama-server",
			Build: "cmake -B build\ncmake --build build -j ${JOBS:-2}"}},
		"urls":       {request: ab.Request{Base: "http://a:8000", Head: "http://b:8000/", Model: "m", Rates: []string{"0.5"}}},
		"slurm":      {request: ab.Request{Base: old, Head: next, Model: qwen, Slurm: "gpu"}},
		"kubernetes": {request: ab.Request{Base: old, Head: next, Model: qwen, Kubernetes: "registry.example/pipeline:v1"}},
	} {
		tt.request.Command = "pipeline ab …"
		text, err := write(tt.request, tt.token)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		golden.Equal(t, filepath.Join("testdata", name+".hcl"), string(text))
	}
}

// TestNames checks that sides are called by what differs.
func TestNames(t *testing.T) {
	digest := strings.Repeat("0123456789abcdef", 4)
	for _, tt := range []struct {
		request    ab.Request
		base, head string
	}{
		{ab.Request{Base: old, Head: next}, "v0.10.2", "v0.11.0"},
		{ab.Request{Base: "r:5000/main/vllm:v1", Head: "r:5000/pr/vllm:v1"}, "main", "pr"},
		{ab.Request{Base: "vllm/vllm-openai:v1", Head: "rocm/vllm:v2"}, "vllm/vllm-openai:v1", "rocm/vllm:v2"},
		{ab.Request{Base: old, Head: "vllm/vllm-openai@sha256:" + digest}, "v0.10.2", "0123456789ab"},
		{ab.Request{Base: "/opt/main/bin/vllm", Head: "/opt/pr/bin/vllm"}, "main", "pr"},
		{ab.Request{Base: "./old/llama-server", Head: "./llama-server"}, "old/llama-server", "llama-server"},
		{ab.Request{Base: "/usr/bin/serve -t 2", Head: "/usr/bin/serve -t 4", Engine: "openai"}, "2", "4"},
		{ab.Request{Base: "http://a:8000", Head: "http://b:8000"}, "a:8000", "b:8000"},
		{ab.Request{Base: "10.0.0.5:8000/v1/", Head: "localhost:8000"}, "10.0.0.5:8000", "localhost:8000"},
		{ab.Request{Base: "v1", Head: "v2", Build: "make", Program: "vllm"}, "v1", "v2"},
		{ab.Request{Base: "HEAD~1", Head: "v2", Build: "make", Program: "vllm"}, "111111111", "v2"},
		{ab.Request{Base: next, HeadArgs: []string{"enforce_eager"}}, "defaults", "enforce_eager"},
		{ab.Request{Base: next, Args: []string{"dtype=half"}, HeadArgs: []string{"dtype=bfloat16"}}, "dtype=half", "dtype=bfloat16"},
		{ab.Request{Base: next, Args: []string{"enforce-eager"}, HeadArgs: []string{"enforce_eager=null"}},
			"enforce_eager", "enforce_eager=null"},
		{ab.Request{Base: next, Args: []string{`x={"a": "long long long long 1"}`}, HeadArgs: []string{`x={"a": "long long long long 2"}`}},
			"base", "head"},
	} {
		tt.request.Model = qwen
		text, err := write(tt.request, false)
		if want := "# Is " + tt.head + " slower than " + tt.base + "? "; err != nil || !strings.HasPrefix(string(text), want) {
			t.Errorf("got %.60s, %v, want %s", text, err, want)
		}
	}
}

// TestWrongRequests checks that a request that cannot be meant says what to write.
func TestWrongRequests(t *testing.T) {
	for _, tt := range []struct {
		request ab.Request
		want    string
	}{
		{ab.Request{Base: old, Head: next}, "name the model by --model"},
		{ab.Request{Base: " ", Model: qwen}, "a side is empty"},
		{ab.Request{Base: old, Model: qwen}, "nothing differs"},
		{ab.Request{Base: old, Head: old, Model: qwen}, "both sides are " + old},
		{ab.Request{Base: "v1", Head: "HEAD~1", Model: qwen, Build: "make", Program: "vllm"}, "both sides are v1"},
		{ab.Request{Base: old, Head: "vllm/vllm-openai v0.11.0", Model: qwen}, "has a space in it"},
		{ab.Request{Base: old, Head: "vllm/vllm-openai", Model: qwen}, "lacks a tag or digest: write vllm/vllm-openai:TAG"},
		{ab.Request{Base: old, Head: "localhost:5000/vllm", Model: qwen}, "lacks a tag or digest"},
		{ab.Request{Base: "v1", Head: "v2", Model: qwen}, "v1 is a commit of this repository: add --build"},
		{ab.Request{Base: old, Head: "./vllm", Model: qwen}, "./vllm is not a program of this machine"},
		{ab.Request{Base: old, Head: "http://h:8000", Model: qwen}, "BASE is an image and HEAD an url"},
		{ab.Request{Base: old, Head: "HEAD~9", Model: qwen}, "not a commit of this folder's repository"},
		{ab.Request{Base: "/usr/bin/serve", Head: "tiny.gguf", Model: qwen}, "tiny.gguf is a file or folder, and not a program"},
		{ab.Request{Base: "r/a:1", Head: "r/a:2", Model: qwen},
			`"r/a:1" does not say which engine it is: add --engine, one of llama.cpp, openai, sglang, transformers, trtllm, vllm; openai is any`},
		{ab.Request{Base: old, Head: "r/a:2", Model: qwen}, `the name of "r/a:2" does not say`},
		{ab.Request{Base: "localhost:8000", Head: "http://localhost:8000/v1", Model: qwen}, "both sides are localhost:8000"},
		{ab.Request{Base: old, Head: "lmsysorg/sglang:v1", Model: qwen}, "BASE is vllm and HEAD is sglang"},
		{ab.Request{Base: old, Head: next, Model: qwen, Engine: "tgi"}, `--engine "tgi" is unknown`},
		{ab.Request{Base: old, Head: next, Model: qwen, Rates: []string{"1"}, Concurrency: []string{"1"}}, "give one of them"},
		{ab.Request{Base: old, Head: next, Model: qwen, Rates: []string{"2", "fast"}}, `--rate "fast" is not a number above 0`},
		{ab.Request{Base: old, Head: next, Model: qwen, Concurrency: []string{"0"}}, `--concurrency "0" is not a number above 0`},
		{ab.Request{Base: old, Head: next, Model: qwen, Args: []string{"=8"}}, "not of the form NAME=VALUE"},
		{ab.Request{Base: old, Head: next, Model: qwen, Args: []string{`x={"a": 1} 2`}}, "not valid JSON"},
		{ab.Request{Base: "http://a:1", Head: "http://b:1", Model: qwen, Args: []string{"x=1"}}, "takes no arguments"},
		{ab.Request{Base: "v1", Head: "v3", Model: qwen, Build: "make", Program: "vllm"}, "a side is a git ref: git rev-parse: no ref v3"},
		{ab.Request{Base: "v1", Head: "v2", Model: qwen, Build: "make"}, "--build needs --executable"},
		{ab.Request{Base: old, Head: next, Model: qwen, Program: "vllm"}, "--executable is the program that --build makes"},
		{ab.Request{Base: "v1", Head: "v2", Model: qwen, Build: "make", Program: "../vllm;x"}, "must be a path within the checkout"},
		{ab.Request{Base: "./old/llama-server", Head: "./llama-server", Model: "tny.gguf"}, "--model tny.gguf is neither a file nor a folder"},
		{ab.Request{Base: "./old/llama-server", Head: "./llama-server", Model: "/models/tny"}, "--model /models/tny is neither"},
		{ab.Request{Base: old, Head: next, Model: qwen, Slurm: "p", Kubernetes: "i"}, "exclude each other"},
	} {
		if _, err := write(tt.request, false); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

// TestOrigin: a line of a written file is named by the flags that it comes from.
func TestOrigin(t *testing.T) {
	r := ab.Request{HeadArgs: []string{"--block-size=32"}}
	for line, want := range map[string]string{
		`  margin    = "5%"`: "--margin", "    rate = [2, 2]": "--rate", "  budget {": "--budget", "    max = 12": "--repeats",
		"  args       = { block_size = each.value }": "--arg and --head-arg", "    block_size = each.value": "--arg and --head-arg",
		`  model      = "m"`: "--model", "  }": "", `gate "latency" {`: "", "": "",
	} {
		if got := r.Origin(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
