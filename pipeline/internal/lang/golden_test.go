package lang_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
)

// formats of reports, as the program hands them down.
var formats = []string{"json", "markdown", "text", "html", "junit", "csv"}

// Every folder of testdata/invalid is a pipeline with something wrong, and a golden file
// of what is said about it.
func TestInvalidFilesSayWhatIsWrong(t *testing.T) {
	for _, dir := range folders(t, "testdata/invalid") {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			cfg, diags := lang.Load(lang.Options{
				Paths: []string{dir}, Registry: testRegistry(t), Formats: formats, Version: "0.3.0",
				Vars: vars(t, dir), VarFiles: optional(filepath.Join(dir, "given.vars")),
			})
			if !diags.HasErrors() {
				t.Error("the file is taken as valid")
			}
			for _, d := range diags {
				if diag.Of(d) == "" {
					t.Errorf("no code: %s", d.Summary)
				}
			}
			golden.Equal(t, filepath.Join(dir, "want.txt"), render(t, cfg, diags))
		})
	}
}

// Every file of testdata/valid has a golden file of what it means.
func TestValidFilesMeanWhatTheySay(t *testing.T) {
	files, err := filepath.Glob("testdata/valid/*.hcl")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			cfg, diags := lang.Load(lang.Options{Paths: []string{file}, Registry: testRegistry(t), Formats: formats, Version: "0.3.0",
				Vars: vars(t, file)})
			if len(diags) > 0 {
				t.Fatal(render(t, cfg, diags))
			}
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetIndent("", "  ")
			enc.SetEscapeHTML(false)
			if err := enc.Encode(describe(cfg)); err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, strings.TrimSuffix(file, ".hcl")+".json", b.String())
		})
	}
}

func folders(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s has no folders", dir)
	}
	return out
}

// vars reads "name=value" from a comment line "# --var name=value" at the start of the
// first file.
func vars(t *testing.T, path string) []lang.VarArg {
	t.Helper()
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		files, err := filepath.Glob(filepath.Join(path, "*.hcl"))
		if err != nil || len(files) == 0 {
			t.Fatal("no files", err)
		}
		path = files[0]
	}
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []lang.VarArg
	for line := range strings.Lines(string(src)) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "# --var ")
		if !ok {
			break
		}
		name, value, _ := strings.Cut(text, "=")
		out = append(out, lang.VarArg{Name: name, Text: value, Origin: "--var"})
	}
	return out
}

func optional(path string) []string {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	return []string{path}
}

func render(t *testing.T, cfg *lang.Config, diags hcl.Diagnostics) string {
	t.Helper()
	var b bytes.Buffer
	if err := diag.Text(&b, cfg.Sources.Map(), diags, diag.Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
