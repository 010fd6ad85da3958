package syntax

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
)

// tree makes files in a new directory and goes there, so that names stay short.
func tree(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLoad(t *testing.T) {
	tree(t, map[string]string{
		"p/b.pipeline.hcl":         "b = 2\n",
		"p/a.pipeline.hcl":         "a = 1\n",
		"p/other.hcl":              "o = 1\n",
		"p/.hidden.pipeline.hcl":   "h = 1\n",
		"p/deep/c.pipeline.hcl":    "c = 1\n",
		"p/dir.pipeline.hcl/x.txt": "",
		"plain/z.hcl":              "z = 1\n",
		"plain/note.txt":           "",
		"empty/note.txt":           "",
		"one.hcl":                  "one = 1\n",
		"broken.hcl":               "ok = 1\nx = [1,\n",
		"deep.hcl":                 "x = " + strings.Repeat("[", 200) + "\n",
		"latin1.hcl":               "x = \"\xe9\"\n",
		"large.hcl":                strings.Repeat("#", MaxFileSize+1),
		"limit.hcl":                strings.Repeat("#", MaxFileSize),
		"junk.hcl":                 strings.Repeat("junk\n", 500),
	})
	tests := []struct {
		name  string
		paths []string
		stdin string
		want  []string    // names of the files
		codes []diag.Code // of the diagnostics
	}{
		{"a file", []string{"one.hcl"}, "", []string{"one.hcl"}, nil},
		{"a directory", []string{"p"}, "", []string{"p/a.pipeline.hcl", "p/b.pipeline.hcl"}, nil},
		{"a directory of plain names", []string{"plain/"}, "", []string{"plain/z.hcl"}, nil},
		{"order of the command line", []string{"p/b.pipeline.hcl", "one.hcl"}, "", []string{"p/b.pipeline.hcl", "one.hcl"}, nil},
		{"a file twice", []string{"p/b.pipeline.hcl", "p", "./p/b.pipeline.hcl"}, "", []string{"p/b.pipeline.hcl", "p/a.pipeline.hcl"}, nil},
		{"stdin", []string{"-"}, "x = 1\n", []string{"<stdin>"}, nil},
		{"the largest file", []string{"limit.hcl"}, "", []string{"limit.hcl"}, nil},
		{"nothing", nil, "", nil, []diag.Code{CodeNone}},
		{"an empty directory", []string{"empty"}, "", nil, []diag.Code{CodeNone}},
		{"a missing file", []string{"nosuch.hcl"}, "", nil, []diag.Code{CodeRead}},
		{"one of two is missing", []string{"nosuch.hcl", "one.hcl"}, "", []string{"one.hcl"}, []diag.Code{CodeRead}},
		{"syntax", []string{"broken.hcl"}, "", []string{"broken.hcl"}, []diag.Code{CodeSyntax}},
		{"nesting", []string{"deep.hcl"}, "", []string{"deep.hcl"}, []diag.Code{CodeNesting}},
		{"encoding", []string{"latin1.hcl"}, "", []string{"latin1.hcl"}, []diag.Code{CodeText}},
		{"size", []string{"large.hcl"}, "", nil, []diag.Code{CodeSize}},
		{"size of stdin", []string{"-"}, strings.Repeat("#", MaxFileSize+1), nil, []diag.Code{CodeSize}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src, diags := Load(tt.paths, strings.NewReader(tt.stdin))
			var names []string
			for _, f := range src.Files {
				names = append(names, f.Name)
				if f.HCL == nil || f.HCL.Body == nil {
					t.Errorf("%s has no body", f.Name)
				}
				if src.Map()[f.Name] != f.HCL {
					t.Errorf("%s is not in the map", f.Name)
				}
			}
			if d := cmp.Diff(tt.want, names); d != "" {
				t.Error(d)
			}
			var codes []diag.Code
			for _, d := range diags {
				codes = append(codes, diag.Of(d))
			}
			if d := cmp.Diff(tt.codes, codes); d != "" {
				t.Errorf("%s\n%v", d, diags)
			}
		})
	}
	t.Run("very many problems", func(t *testing.T) {
		_, diags := Load([]string{"junk.hcl"}, nil)
		if len(diags) != maxDiagnostics+1 || !strings.Contains(diags[maxDiagnostics].Detail, "450 more") {
			t.Errorf("%d diagnostics, the last: %v", len(diags), diags[len(diags)-1])
		}
	})
}

func TestLoadReadsPartsOfBrokenFiles(t *testing.T) {
	tree(t, map[string]string{"x.hcl": "ok = 1\nx = [1,\n"})
	src, _ := Load([]string{"x.hcl"}, nil)
	attrs, _ := src.Files[0].HCL.Body.JustAttributes()
	if attrs["ok"] == nil {
		t.Error("the part before the error is lost")
	}
}

// The parser says what it expected. Where it is plain what was meant, the message says how that is written.
func TestSyntaxErrorsAdvise(t *testing.T) {
	for text, want := range map[string]string{
		"margin = 5%\n":                      `in quotes, such as "5%"`,
		"größe = 1\nmargin = 2.5 %\n":        `in quotes, such as "5%"`,
		"rate = 2, 4\n":                      "[1, 2]",
		"a = { image = vllm/openai:v1 }\n":   "If the value is text, write it in quotes.",
		"timeout = 10m\n":                    "If the value is text, write it in quotes.",
		"gate \"a\" {\n  margin = 1\n}\n}\n": "This brace closes nothing",
		"rate = \n":                          "Expected the start of an expression",
	} {
		_, diags := LoadText("a.hcl", []byte(text))
		if len(diags) != 1 || !strings.Contains(diags[0].Detail, want) {
			t.Errorf("%q: got %v, want %q", text, diags, want)
		}
	}
}

func TestLoadTooManyFiles(t *testing.T) {
	files := map[string]string{}
	for i := range MaxFiles + 1 {
		files[fmt.Sprintf("%03d.pipeline.hcl", i)] = ""
	}
	tree(t, files)
	src, diags := Load([]string{"."}, nil)
	if len(src.Files) != 0 || len(diags) != 1 || diag.Of(diags[0]) != CodeSize {
		t.Errorf("%d files, %v", len(src.Files), diags)
	}
}

func TestFormat(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"aligns", "a=1\nlonger  = 2\n", "a      = 1\nlonger = 2\n"},
		{"indents", "b {\na=1\n}\n", "b {\n  a = 1\n}\n"},
		{"leaves bombs", "a=" + strings.Repeat("[", 200), "a=" + strings.Repeat("[", 200)},
		{"leaves what is not text", "a=\"\xff\"", "a=\"\xff\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(Format([]byte(tt.src))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDiff(t *testing.T) {
	tests := []struct{ name, a, b, want string }{
		{"one line", "a=1\nb = 2\n", "a = 1\nb = 2\n", "@@ -1,2 +1,2 @@\n-a=1\n+a = 1\n b = 2\n"},
		{"no line end", "a=1", "a = 1\n", "@@ -1 +1 @@\n-a=1\n\\ No newline at end of file\n+a = 1\n"},
		{"from nothing", "", "a = 1\n", "@@ -0,0 +1 @@\n+a = 1\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := "--- x.hcl\n+++ x.hcl (formatted)\n" + tt.want
			if got := Diff("x.hcl", []byte(tt.a), []byte(tt.b)); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	if got := Diff("x.hcl", []byte("a"), []byte("a")); got != "" {
		t.Errorf("equal files differ: %q", got)
	}
}

// FuzzLoad checks that nothing crashes on any bytes: loading, formatting, and what a
// user sees of the problems.
func FuzzLoad(f *testing.F) {
	for _, bomb := range bombs {
		f.Add([]byte(bomb(200)))
		f.Add([]byte(bomb(2000)))
	}
	f.Add([]byte("b \"l\" {\n  a = \"x ${y} %{ if z }w%{ endif }\"\n}\n"))
	f.Add([]byte("a = <<-E\n  x\n  E\n"))
	f.Add([]byte("\xef\xbb\xbfa = 1\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, diags := Load([]string{"-"}, strings.NewReader(string(src)))
		var b strings.Builder
		if err := diag.Text(&b, s.Map(), diags, diag.Options{}); err != nil {
			t.Fatal(err)
		}
		if diags.HasErrors() && !strings.Contains(b.String(), "error") {
			t.Fatalf("errors are not shown: %q", b.String())
		}
		if strings.ContainsAny(b.String(), "\x1b\x00\r\a") {
			t.Fatalf("control characters are shown: %q", b.String())
		}
		if !diags.HasErrors() {
			// A formatted file stays a file.
			again, diags := Load([]string{"-"}, strings.NewReader(string(Format(src))))
			if diags.HasErrors() || len(again.Files) != 1 {
				t.Fatalf("formatting broke it: %v", diags)
			}
		}
	})
}
