package serverblock_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/serverblock"
	"github.com/zclconf/go-cty/cty"
)

func TestServerSchemaIsDocumented(t *testing.T) {
	var walk func(path string, s steps.Schema)
	walk = func(path string, s steps.Schema) {
		for _, a := range s.Attrs {
			if a.Doc == "" || !strings.HasSuffix(a.Doc, ".") {
				t.Errorf("%s%s: the doc is not a sentence: %q", path, a.Name, a.Doc)
			}
			if a.Unit != "" && a.Type != cty.Number {
				t.Errorf("%s%s: an argument with a unit is a number", path, a.Name)
			}
			if a.Default != cty.NilVal && !a.Default.Type().Equals(a.Type) {
				t.Errorf("%s%s: the default has another type", path, a.Name)
			}
		}
		for _, b := range s.Blocks {
			if b.Doc == "" {
				t.Errorf("%s%s: the block has no doc", path, b.Type)
			}
			walk(path+b.Type+".", b.Schema)
		}
	}
	walk("", serverblock.Schema())
}

func TestCheckServer(t *testing.T) {
	str, num := cty.StringVal, cty.NumberIntVal
	tests := map[string]struct {
		attrs map[string]cty.Value
		ready map[string]cty.Value
		want  string // path: summary, one a line
	}{
		"image":           {attrs: map[string]cty.Value{"image": str("vllm/vllm-openai:v0.11.0")}},
		"executable":      {attrs: map[string]cty.Value{"executable": str("vllm")}},
		"executable list": {attrs: map[string]cty.Value{"executable": cty.TupleVal([]cty.Value{str("python3"), str("-m"), str("x")})}},
		"image with a space": {
			attrs: map[string]cty.Value{"image": str("vllm/vllm-openai v0.11.0")},
			want:  `image: image "vllm/vllm-openai v0.11.0" has a space in it`},
		"url":    {attrs: map[string]cty.Value{"url": str("http://127.0.0.1:8000")}},
		"url v6": {attrs: map[string]cty.Value{"url": str("https://[::1]:8000/base/")}},
		"unknown": {attrs: map[string]cty.Value{"image": cty.UnknownVal(cty.String), "args": cty.DynamicVal,
			"port": cty.UnknownVal(cty.Number)}},
		"two sources": {attrs: map[string]cty.Value{"image": str("i:1"), "url": str("http://h")}, want: "url: image and url exclude each other"},
		"url without scheme": {
			attrs: map[string]cty.Value{"url": str("127.0.0.1:8000")},
			want:  "url: url must be an http or https address without user, query and fragment"},
		"url with key": {
			attrs: map[string]cty.Value{"url": str("http://me:pw@h/")},
			want:  "url: url must be an http or https address without user, query and fragment"},
		"url with v1": {attrs: map[string]cty.Value{"url": str("http://h:1/v1/")}, want: "url: url must not end in /v1"},
		"executable empty": {attrs: map[string]cty.Value{"executable": cty.EmptyTupleVal},
			want: "executable: executable must be a string or a list of strings"},
		"executable map": {
			attrs: map[string]cty.Value{"executable": cty.EmptyObjectVal},
			want:  "executable: executable must be a string or a list of strings"},
		"port":       {attrs: map[string]cty.Value{"port": num(70000)}, want: "port: port must be a whole number from 1 to 65535"},
		"half a gpu": {attrs: map[string]cty.Value{"gpus": cty.NumberFloatVal(0.5)}, want: "gpus: gpus must be a whole number from 0 to 1024"},
		"args list":  {attrs: map[string]cty.Value{"args": cty.TupleVal([]cty.Value{str("--x")})}, want: "args: args must be a map of flags"},
		"env name": {
			attrs: map[string]cty.Value{"env": cty.MapVal(map[string]cty.Value{"A-B": str("1")})},
			want:  `env.A-B: "A-B" is not the name of an environment variable`},
		"ready": {
			ready: map[string]cty.Value{"timeout": num(0), "interval": num(-1), "path": str("health")},
			want: "ready.path: path must begin with a slash\nready.timeout: timeout must be above zero\nready.interval: interval must be " +
				"above zero"},
		"args for a url": {
			attrs: map[string]cty.Value{"url": str("http://h"), "gpus": num(1)},
			want:  "gpus: gpus has no effect on a server that already runs"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := steps.Object{Attrs: tt.attrs}
			if tt.ready != nil {
				o.Blocks = map[string][]steps.Object{"ready": {{Attrs: tt.ready}}}
			}
			if got := problems(serverblock.Check(o)); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

func problems(found []steps.Problem) string {
	lines := make([]string, len(found))
	for i, p := range found {
		lines[i] = fmt.Sprintf("%s: %s", strings.Join(p.Path, "."), p.Summary)
	}
	return strings.Join(lines, "\n")
}
