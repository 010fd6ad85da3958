package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sidesFile is a comparison of two sides; what differs is put into it.
const sidesFile = `
variable "head" {
  type    = string
  default = "img:1"
}

server "vllm" "sut" {
  for_each = SIDES
  image    = "img:1"
  model    = "Qwen/Qwen2.5-7B-Instruct"
  EACH
}

dataset "random" "d" {
  input_len  = 32
  output_len = 4
}

benchmark "b" {
  target  = TARGET
  dataset = dataset.random.d

  matrix {
    AXIS
  }

  load {
    arrival         = "closed"
    max_concurrency = CONCURRENCY
    requests        = 20
  }

  repeat {
    min = 4
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = BASE
}

gate "g" {
  benchmark = benchmark.b
  baseline  = baseline.paired.base
  metrics   = [metric.e2el.p50]
  margin    = "5%"
}
`

// A comparison whose sides are one thing is refused with its place, however the file is
// written; what sides differ in is shown, by plan and validate alike.
func TestSidesThatAreTheSame(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		replace map[string]string
		args    []string
		exit    int
		want    string // in what plan and validate print
	}{
		"images": {map[string]string{"SIDES": `{ base = "img:1", head = "img:2" }`, `"img:1"` +
			"\n  model": "each.value\n  model"}, nil, 0, "image: img:1 → img:2"},
		"a variable": {map[string]string{"SIDES": `{ base = "img:1", head = var.head }`, `"img:1"` +
			"\n  model": "each.value\n  model"}, []string{"--var", "head=img:3"}, 0, "image: img:1 → img:3"},
		"an equal variable": {map[string]string{"SIDES": `{ base = "img:1", head = var.head }`, `"img:1"` +
			"\n  model": "each.value\n  model"}, nil, 3, "side=base and side=head do the same work on the same server"},
		"an argument": {map[string]string{"SIDES": `{ base = 1, head = 2 }`, "EACH": `args = { max_num_seqs = each.value }`}, nil, 0,
			"args.max_num_seqs: 1 → 2"},
		"a variable of the env": {map[string]string{"EACH": `env = { SIDE = each.key }`}, nil, 0, "env.SIDE: base → head"},
		"nothing":               {nil, nil, 3, `server.vllm.sut["base"] and server.vllm.sut["head"] are launched alike`},
		"nothing, on purpose":   {nil, []string{"--allow-identical"}, 0, "the same in everything"},
		"the port":              {map[string]string{"EACH": `port = each.key == "base" ? 8001 : 8002`}, nil, 3, "are launched alike"},
		"the patience": {map[string]string{"EACH": "ready {\n    timeout = each.key == \"base\" ? \"1m\" : \"2m\"\n  }"}, nil, 3,
			"are launched alike"},
		"one side's address": {map[string]string{"TARGET": `server.vllm.sut["head"]`, "EACH": `env = { SIDE = each.key }`}, nil, 3,
			`both are server.vllm.sut["head"]`},
		"the work alone": {map[string]string{"TARGET": `server.vllm.sut["head"]`, "AXIS": "side = [1, 4]", "BASE": "1",
			"CONCURRENCY": "matrix.side"}, nil, 0, "work: max concurrency: 1 → 4"},
		"a control": {map[string]string{"SIDES": `{ base = 1, again = 1, head = 2 }`,
			"EACH": `args = { max_num_seqs = each.value }`, "AXIS": `side = ["base", "again", "head"]`}, nil, 0, "again against base"},
		"two controls": {map[string]string{"SIDES": `toset(["base", "again", "head"])`, "AXIS": `side = ["base", "again", "head"]`},
			nil, 3, "do the same work on the same server"},
	} {
		t.Run(name, func(t *testing.T) {
			text := sidesFile
			for old, replacement := range tt.replace {
				text = strings.Replace(text, old, replacement, 1)
			}
			text = strings.NewReplacer("SIDES", `toset(["base", "head"])`, "  EACH\n", "", "TARGET", "server.vllm.sut[matrix.side]",
				"AXIS", `side = ["base", "head"]`, "CONCURRENCY", "2", "BASE", `"base"`).Replace(text)
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "f.hcl"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, command := range []string{"validate", "plan", "run"} {
				if command == "run" && tt.exit == 0 {
					continue // it would start something
				}
				out, code := pipeline(t, dir, append([]string{command, "f.hcl"}, tt.args...)...)
				flat := strings.Join(strings.Fields(strings.ReplaceAll(out, "│", " ")), " ")
				if code != tt.exit || !strings.Contains(flat, tt.want) {
					t.Errorf("%s: exit status %d, want %d with %q:\n%s", command, code, tt.exit, tt.want, out)
				}
				if tt.exit == 3 && !strings.Contains(flat, `on f.hcl line`) {
					t.Errorf("%s names no place:\n%s", command, out)
				}
			}
		})
	}
}

// A/A commands need no flag, and a rehearsal counts how servers are simulated.
func TestSidesThatAreTheSameOnPurpose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := strings.NewReplacer("SIDES", `{ base = "0%", head = "20%" }`, "  EACH\n", "  simulate {\n    slowdown = each.value\n  }\n",
		"TARGET", "server.vllm.sut[matrix.side]",
		"AXIS", `side = ["base", "head"]`, "CONCURRENCY", "2", "BASE", `"base"`).Replace(sidesFile)
	if err := os.WriteFile(filepath.Join(dir, "f.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for command, exit := range map[string]int{
		"validate f.hcl": 0, "plan f.hcl": 3, "plan --simulate f.hcl": 0, "run --simulate=virtual --progress quiet f.hcl": 1,
		"calibrate --simulate=virtual --progress quiet f.hcl": 0, "selftest f.hcl": 0,
	} {
		if out, code := pipeline(t, dir, strings.Fields(command)...); code != exit {
			t.Errorf("%s: exit status %d, want %d:\n%s", command, code, exit, out)
		}
	}
}
