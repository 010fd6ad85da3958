package exec_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/exec"
	"github.com/zclconf/go-cty/cty"
)

// writer starts commands that write a text to their output file and end at once.
type writer struct{ text string }

func (w writer) Spawn(_ context.Context, c steps.Command) (steps.Child, error) {
	file, _ := steps.Getenv(c.Env, steps.OutputVar)
	return ended{}, os.WriteFile(file, []byte(w.text), 0o600)
}

// ended is a process that has ended.
type ended struct{ steps.Child }

func (ended) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}
func (ended) Wait() error { return nil }

// outputs runs a command that declares outputs and writes a text.
func outputs(t *testing.T, text string, declared ...string) (map[string]string, error) {
	t.Helper()
	names := cty.SetValEmpty(cty.String)
	if len(declared) > 0 {
		var list []cty.Value
		for _, n := range declared {
			list = append(list, cty.StringVal(n))
		}
		names = cty.SetVal(list)
	}
	obj := steps.Object{Attrs: map[string]cty.Value{"command": cty.ListVal([]cty.Value{cty.StringVal("x")}), "outputs": names}}
	return exec.Action{}.Run(t.Context(), steps.ActionEnv{Spawner: writer{text}, Temp: t.TempDir()}, obj)
}

func TestOutputs(t *testing.T) {
	tests := map[string]struct {
		text     string
		declared []string
		want     map[string]string
		err      string
	}{
		"none": {"", nil, map[string]string{}, ""},
		"values": {"digest=sha256:1\n\nurl=http://h/?a=b\r\n", []string{"digest", "url"}, map[string]string{"digest": "sha256:1",
			"url": "http://h/?a=b"}, ""},
		"last wins":    {"a=1\na=2", []string{"a"}, map[string]string{"a": "2"}, ""},
		"empty value":  {"a=\n", []string{"a"}, map[string]string{"a": ""}, ""},
		"missing":      {"a=1\n", []string{"a", "b"}, nil, `did not write the output "b"`},
		"undeclared":   {"a=1\nb=2\n", []string{"a"}, nil, `wrote the output "b", which outputs does not list`},
		"no equals":    {"hello\n", []string{"a"}, nil, "line 1 of the output file is not name=value"},
		"not text":     {"a=\xff\n", []string{"a"}, nil, "is not text"},
		"zero":         {"a=\x00\n", []string{"a"}, nil, "is not text"},
		"long line":    {"a=" + strings.Repeat("x", 64<<10), []string{"a"}, nil, "longer than"},
		"large output": {strings.Repeat("a=1\n", 1<<20/4+1), []string{"a"}, nil, "larger than"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := outputs(t, tt.text, tt.declared...)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzOutputs(f *testing.F) {
	f.Add("digest=sha256:1\nurl=http://h/?a=b\n")
	f.Add("a\n=\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := outputs(t, text, "a", "digest")
		if err != nil {
			return
		}
		if len(got) != 2 {
			t.Errorf("%d outputs", len(got))
		}
		for name, value := range got {
			if !strings.Contains(text, name+"="+value) {
				t.Errorf("%s=%q was not written", name, value)
			}
		}
	})
}
