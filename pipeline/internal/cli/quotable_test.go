package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A message that quotes a line of a file shows no part of a secret, at whatever width it cuts the line: neither of a
// known one, nor of one that stands in an argument that could not be evaluated.
func TestQuotedLinesHoldNoSecrets(t *testing.T) {
	const secret, known = "pK7wX2mQ9zR4tV6yB1nCsL5dH8gJ3fK0aZ", "oR2eU5tY8iP1aS4dF7gH0jK3lZ6xC9vB2nM"
	for pad := range 4 {
		file := filepath.Join(t.TempDir(), "gate.hcl")
		line := fmt.Sprintf(`  env = { P = "%s", API_TOKEN = "%s", NOTE = "%s", BAD = nothing.x }`, strings.Repeat("y", 9*pad), secret, known)
		text := "server \"vllm\" \"sut\" {\n  executable = \"vllm\"\n  model = \"m\"\n" + line + "\n}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for width := 40; width <= 200; width += 13 {
			for _, command := range [][]string{{"validate", file}, {"validate", "--json", file}} {
				var out bytes.Buffer
				code := Main(command, Streams{
					In: strings.NewReader(""), Out: &out, Err: &out, Log: &out,
					Environ: func() []string { return []string{"OTHER_SECRET=" + known} }, Getenv: func(string) string { return "" },
					Width: func() int { return width }, OutWidth: func() int { return width },
				})
				if code != exitUsage || !strings.Contains(out.String(), "nothing.x") {
					t.Fatalf("exit %d: %s", code, out.String())
				}
				for i := range len(secret) - 4 {
					if strings.Contains(out.String(), secret[i:i+5]) || strings.Contains(out.String(), known[i:i+5]) {
						t.Fatalf("width %d: %s", width, out.String())
					}
				}
			}
		}
	}
}

// A message quotes references to secrets as they are written.
func TestQuotedLinesKeepReferences(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gate.hcl")
	const line = `  env = { HF_TOKEN = var.hf_token, DB_PASSWORD = "${local.db_password}", IMAGE = "vllm:v0.11.0@sha256:1f", BAD = nothing.x }`
	text := "server \"vllm\" \"sut\" {\n  executable = \"vllm\"\n  model = \"m\"\n" + line + "\n}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	wide := func() int { return 200 }
	Main([]string{"validate", file}, Streams{
		In: strings.NewReader(""), Out: &out, Err: &out, Log: &out, Width: wide, OutWidth: wide,
		Environ: func() []string { return nil }, Getenv: func(string) string { return "" },
	})
	if !strings.Contains(out.String(), line[2:]) {
		t.Errorf("%s", out.String())
	}
}

// TestSecretsOfTheCommandLine: what the command line calls a secret is not printed: neither in a message about an argument, nor
// in a line of a file that is quoted beside the variable, whose value may have spaces.
func TestSecretsOfTheCommandLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gate.hcl")
	if err := os.WriteFile(file, []byte("locals {\n  note = nothing.x # correct horse battery\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		command []string
		shown   string
		secret  string
	}{
		{[]string{"report", "./api_key=hunterVar99xyz"}, "./api_key=", "hunterVar99xyz"},
		{[]string{"validate", file, "--var=db_password=correct horse battery"}, "nothing.x", "battery"},
		{[]string{"validate", file, "--var", "db_password=correct horse battery"}, "nothing.x", "battery"},
	} {
		var out bytes.Buffer
		wide := func() int { return 200 }
		Main(tt.command, Streams{
			In: strings.NewReader(""), Out: &out, Err: &out, Log: &out, Width: wide, OutWidth: wide,
			Environ: func() []string { return nil }, Getenv: func(string) string { return "" },
		})
		if text := out.String(); !strings.Contains(text, tt.shown) || strings.Contains(text, tt.secret) {
			t.Errorf("%q prints\n%s", tt.command, text)
		}
	}
}
