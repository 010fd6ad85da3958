package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/zclconf/go-cty/cty"
)

// echo is a dataset that nothing but this file knows: each line of its file is a prompt.
var echo = dataset.Kind{
	Name: "echo", Doc: "Each line of a file.",
	Attrs: []steps.Attr{
		{Name: "path", Type: cty.String, Required: true, Doc: "The file."},
		{Name: "shout", Type: cty.Bool, Doc: "Prompts in capitals."},
	},
	Read: func(r io.Reader) (*dataset.Table, error) {
		text, err := io.ReadAll(r)
		t := &dataset.Table{}
		for line := range strings.Lines(string(text)) {
			t.Entries = append(t.Entries, dataset.Entry{Text: strings.TrimSpace(line), Input: len(line), Output: 4})
		}
		return t, err
	},
	Source: func(_ context.Context, d steps.Dataset, m dataset.Material) (dataset.Source, error) {
		return echoes{m.Table.Entries, d.Options["shout"] == true}, nil
	},
}

type echoes struct {
	lines []dataset.Entry
	shout bool
}

func (e echoes) Prompt(i int, _ dataset.Seeds) dataset.Prompt {
	line := e.lines[i%len(e.lines)]
	if e.shout {
		line.Text = strings.ToUpper(line.Text)
	}
	return dataset.Prompt{Text: fmt.Sprint(i, line.Text), Input: line.Input, Output: line.Output}
}

// A dataset that is only in the table is decoded, documented, read and measured.
func TestDatasetIsOneRow(t *testing.T) {
	t.Chdir(t.TempDir())
	text := strings.Replace(strings.ReplaceAll(toyPipeline, `"toy"`, `"json"`), `dataset "random" "d" {
  input_len  = 64
  output_len = 4
}`, `dataset "echo" "d" {
  path  = "lines.txt"
  shout = true
}`, 1)
	text = strings.ReplaceAll(text, "dataset.random.d", "dataset.echo.d")
	for name, text := range map[string]string{"echo.pipeline.hcl": text, "lines.txt": "how are you\nwho are you\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := toyRunner(t, func(a *app) { a.datasets = append(a.datasets, echo) })
	run(exitOK, "run", "echo.pipeline.hcl", "--simulate=virtual", "--out", "out")
	plan, err := os.ReadFile(filepath.Join("out", "plan.json"))
	if err != nil || !strings.Contains(string(plan), `"kind": "echo"`) {
		t.Errorf("the plan does not name the dataset: %v", err)
	}
	if got := run(exitOK, "schema", "dataset", "echo"); !strings.Contains(got, "Prompts in capitals.") {
		t.Errorf("schema: %s", got)
	}
	if err := os.Remove("lines.txt"); err != nil {
		t.Fatal(err)
	}
	if got := run(exitUsage, "validate", "echo.pipeline.hcl"); !strings.Contains(got, "is not there") {
		t.Errorf("without its file: %s", got)
	}
}
