package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// workFile is a file whose server names files by its arguments.
const workFile = `
server "vllm" "sut" {
  for_each   = toset(["base", "head"])
  SOURCE
  DIR
  model = "tiny"
  args  = { ARGS }
  env   = { SIDE = each.key, ENV }
}
dataset "random" "d" {
  input_len  = 8
  output_len = 2
}
benchmark "b" {
  matrix {
    side = ["base", "head"]
  }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.d
  load {
    rate     = 20
    requests = 20
  }
  repeat {
    min = 4
  }
}
baseline "paired" "base" {
  axis  = "side"
  value = "base"
}
gate "g" {
  benchmark = benchmark.b
  baseline  = baseline.paired.base
  metrics   = [metric.e2el.p50]
  margin    = "5%"
}
`

// containerOf is the source of a server with an image and a mount.
func containerOf(source, target string) string {
	return "image = \"img:1\"\n  container {\n    mounts = [\"" + source + ":" + target + "\"]\n  }"
}

// TestFilesOfWorkStayThoseOfTheBase: a change cannot alter what is measured by a file that an argument names, in its own
// checkout or by another working directory. Files that hold the same are taken, and so are names that are no files.
func TestFilesOfWorkStayThoseOfTheBase(t *testing.T) {
	type set = map[string]string
	for name, tt := range map[string]struct {
		file       set // placeholders of both files
		headDir    string
		base, head set // files beside them
		want       string
	}{
		"another chat template": {set{"ARGS": `chat_template = "chat.jinja"`}, "", set{"chat.jinja": "{{ all }}"}, set{"chat.jinja": "{{ one }}"},
			"chat_template of server.vllm.sut"},
		"a chat template that only the head has": {set{"ARGS": `chat_template = "chat.jinja"`}, "", nil, set{"chat.jinja": "{{ one }}"},
			"chat_template of server.vllm.sut"},
		"the same chat template": {set{"ARGS": `chat_template = "chat.jinja"`}, "", set{"chat.jinja": "{{ all }}"},
			set{"chat.jinja": "{{ all }}"}, ""},
		"a chat template as text": {set{"ARGS": `chat_template = "` + strings.Repeat("{{ m }} ", 500) + `"`}, "", nil, set{"x": "y"}, ""},
		"another folder": {set{"ARGS": `chat_template = "chat.jinja"`}, "sub", set{"chat.jinja": "{{ all }}"},
			set{"chat.jinja": "{{ all }}", "sub/chat.jinja": "{{ one }}"}, "chat_template of server.vllm.sut"},
		"another folder with the same": {set{"ARGS": `chat_template = "chat.jinja"`}, "sub", set{"chat.jinja": "{{ all }}"},
			set{"sub/chat.jinja": "{{ all }}"}, ""},
		"another folder without the file": {set{"ARGS": `chat_template = "chat.jinja"`}, "sub", set{"chat.jinja": "{{ all }}"}, set{"sub/x": "y"},
			"chat_template of server.vllm.sut"},
		"a model in another folder": {nil, "sub", nil, set{"sub/tiny/config.json": "{}"}, "model of server.vllm.sut"},
		"an adapter of a list": {set{"ARGS": `lora_modules = ["sql=./adapter"]`}, "", set{"adapter/w": "1"}, set{"adapter/w": "2"},
			"lora_modules of server.vllm.sut"},
		"an adapter of an object": {set{"ARGS": `lora_modules = [jsonencode({ name = "sql", path = "adapter" })]`}, "", set{"adapter/w": "1"},
			set{"adapter/w": "2"}, "lora_modules of server.vllm.sut"},
		"a word of the executable": {set{"SOURCE": `executable = ["vllm", "--config=engine.yaml"]`}, "", set{"engine.yaml": "a: 1"},
			set{"engine.yaml": "max_model_len: 1"}, "config of server.vllm.sut"},
		"a folder of models": {set{"ENV": `HF_HOME = "cache"`}, "", nil, set{"cache/hub/models--tiny/x": "1"}, "HF_HOME of server.vllm.sut"},
		"a folder of models that is mounted": {set{"SOURCE": containerOf("./hub", "/home/me/.cache/huggingface")}, "", nil,
			set{"hub/hub/models--tiny/x": "1"}, "folder of models of server.vllm.sut"},
		"a home that is mounted": {set{"SOURCE": containerOf("./home", "/root")}, "", set{"home/.cache/huggingface/x": "1"},
			set{"home/.cache/huggingface/x": "2"}, "folder of models of server.vllm.sut"},
		"a program that is mounted": {set{"SOURCE": containerOf("./src", "/src")}, "", set{"src/x": "1"}, set{"src/x": "2"}, ""},
		"a path of the container": {set{"SOURCE": containerOf("./etc", "/srv"), "ARGS": `chat_template = "/srv/chat.jinja"`}, "",
			set{"etc/chat.jinja": "{{ all }}"}, set{"etc/chat.jinja": "{{ one }}"}, "chat_template of server.vllm.sut"},
		"a tokenizer of the hub": {set{"ARGS": `tokenizer = "org/tiny"`}, "", nil, set{"x": "y"}, ""},
		"an absolute path":       {set{"ARGS": `chat_template = "/etc/hostname"`}, "sub", nil, set{"sub/x": "y"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			base, head := t.TempDir(), t.TempDir()
			write := func(dir, workDir string, files set) string {
				text := workFile
				for old, replacement := range tt.file {
					text = strings.Replace(text, old, replacement, 1)
				}
				text = strings.NewReplacer("SOURCE", `executable = "vllm"`, "  DIR\n", workDir, "ARGS", "", ", ENV", "").Replace(text)
				put(t, dir, "gate.pipeline.hcl", text)
				for name, content := range files {
					put(t, dir, name, content)
				}
				return filepath.Join(dir, "gate.pipeline.hcl")
			}
			workDir := ""
			if tt.headDir != "" {
				workDir = `  dir = each.key == "head" ? "` + tt.headDir + "\" : null\n"
			}
			before, after := write(base, "", tt.base), write(head, workDir, tt.head)
			j := newBaseJudge(t, "")
			a, _ := j.app()
			cfg, diags, err := a.read(configFlags{}, []string{after})
			if err != nil || diags.HasErrors() {
				t.Fatal(err, diags)
			}
			_, err = a.judgedBy(sourceFlags{base: before, source: gatesOfBase}, configFlags{}, cfg)
			if refused := err != nil; refused != (tt.want != "") || refused && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
