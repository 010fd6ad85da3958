package event

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"html/template"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRedactForms(t *testing.T) {
	const secret = `hf_"a+b/c&d<e>\ü`
	r := NewRedactor([]string{secret})
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"plain":                 secret,
		"query":                 url.QueryEscape(secret),
		"path":                  url.PathEscape(secret),
		"json":                  string(quoted),
		"json, raw html":        jsonText(secret, false),
		"go":                    fmt.Sprintf("%q", secret),
		"base64":                base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64, url":           base64.URLEncoding.EncodeToString([]byte(secret)),
		"basic, shift 1":        base64.StdEncoding.EncodeToString([]byte("u:u:" + secret)),
		"basic, shift 2":        base64.StdEncoding.EncodeToString([]byte("user:" + secret + ":x")),
		"twice in a line":       secret + secret,
		"address, every byte":   percent(secret, "%%%02X"),
		"address, small digits": percent(secret, "%%%02x"),
		"address, small":        strings.NewReplacer("%C3%BC", "%c3%bc", "%3C", "%3c", "%3E", "%3e", "%5C", "%5c", "%2F", "%2f").Replace(url.PathEscape(secret)),
		"python's json":         `hf_\"a+b/c&d<e>\\\u00fc`,
		"python's, large":       `hf_\"a+b/c&d<e>\\\u00FC`,
		"php's json":            `hf_\"a+b\/c&d<e>\\ü`,
		"html":                  html.EscapeString(secret),
		"html template":         template.HTMLEscapeString(secret),
		"hex":                   hex.EncodeToString([]byte(secret)),
		"hex, large":            strings.ToUpper(hex.EncodeToString([]byte(secret))),
	} {
		got := r.String("before " + text + " behind")
		if !strings.Contains(got, Mask) {
			t.Errorf("%s: %q keeps the secret", name, got)
		}
		if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " behind") {
			t.Errorf("%s: %q lost what is around the secret", name, got)
		}
		// base64 leaves at most one character at each end that also depends on the neighbours.
		if len(got) > len("before  behind")+2*len(Mask)+12 {
			t.Errorf("%s: %q keeps too much", name, got)
		}
	}
}

// percent writes every byte in a form.
func percent(s, form string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, form, s[i])
	}
	return b.String()
}

func TestRedactValue(t *testing.T) {
	type word string
	type leaf struct {
		Text   string
		Word   word
		hidden string
	}
	doc := struct {
		Leaves []leaf
		Point  *leaf
		Map    map[string]string
		Any    map[string]any
		Number float64
	}{
		[]leaf{{"a secret-1 b", "secret-1", "secret-1"}}, &leaf{Text: "secret-1"}, map[string]string{"k secret-1": "secret-1", "other": "x"},
		map[string]any{"a": "secret-1", "b": 1.5}, 2,
	}
	NewRedactor([]string{"secret-1"}).Value(&doc)
	got := fmt.Sprintf("%+v %+v", doc, *doc.Point)
	if n := strings.Count(got, "secret-1"); n != 2 { // the enumeration and what is not exported
		t.Errorf("%d secrets left in %s", n, got)
	}
	if doc.Map["k (redacted)"] != Mask || doc.Any["b"] != 1.5 || doc.Map["other"] != "x" {
		t.Errorf("%+v", doc)
	}
	if doc.Leaves[0].hidden == "" {
		t.Error("a field that is not ours was changed")
	}
}

func TestEnvironSecrets(t *testing.T) {
	got := EnvironSecrets([]string{
		"HF_TOKEN=hf_abcdefgh", "GITHUB_TOKEN=ghs_1234", "OPENAI_API_KEY=sk-abcdefgh", "DB_PASSWORD=Hunter2-Hunter2",
		"MAX_TOKENS=100000000", "TOKENIZERS_PARALLELISM=falsefalse", "SORT_KEY=something-long", "A_TOKEN=short", "B_TOKEN=disabled",
		"C_TOKEN=/run/secrets/token", "D_TOKEN=12345678.9", "NOVALUE", "PATH=/bin",
	})
	want := "hf_abcdefgh|ghs_1234|sk-abcdefgh|Hunter2-Hunter2"
	if strings.Join(got, "|") != want {
		t.Errorf("%q, want %s", got, want)
	}
}

func TestRedactLines(t *testing.T) {
	r := NewRedactor([]string{"first line of a key\nsecond line of a key\n"})
	got := r.String("log: second line of a key\nlog: first line of a key.")
	if want := "log: (redacted)\nlog: (redacted)."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRedactShortSecretsStay(t *testing.T) {
	if got := NewRedactor([]string{"", "on", "12345"}).String("turn it on, 12345"); got != "turn it on, 12345" {
		t.Errorf("got %q", got)
	}
}

func TestNilRedactor(t *testing.T) {
	var r *Redactor
	var out bytes.Buffer
	w := r.Writer(&out)
	if _, err := w.Write([]byte("text")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := r.String("text") + out.String(); got != "texttext" {
		t.Errorf("got %q", got)
	}
}

func TestWriterHoldsBackOnlyWhatMayBeASecret(t *testing.T) {
	var out bytes.Buffer
	w := NewRedactor([]string{"secret-1"}).Writer(&out)
	for _, step := range []struct{ write, want string }{
		{"plain\n", "plain\n"},
		{"it is sec", "it is "},
		{"ret", ""},
		{"-1!", "(redacted)!"},
		{" secre", " "},
		{"cy", "secrecy"},
	} {
		out.Reset()
		if _, err := w.Write([]byte(step.write)); err != nil {
			t.Fatal(err)
		}
		if out.String() != step.want {
			t.Errorf("after %q: got %q, want %q", step.write, out.String(), step.want)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWriterReportsErrors(t *testing.T) {
	if _, err := NewRedactor(nil).Writer(brokenWriter{}).Write([]byte("x")); err == nil {
		t.Error("a failed write is not reported")
	}
}

// reference masks by the definition: every occurrence of every pattern, where those that
// overlap share a mask.
func reference(patterns [][]byte, text []byte) string {
	var out strings.Builder
	end := 0
	for i := range text {
		for _, p := range patterns {
			if !bytes.HasPrefix(text[i:], p) {
				continue
			}
			if i >= end {
				out.WriteString(Mask)
			}
			end = max(end, i+len(p))
		}
		if i >= end {
			out.WriteByte(text[i])
		}
	}
	return out.String()
}

func TestRedactorProperty(t *testing.T) {
	// A small alphabet makes overlaps, repetitions and partial matches common.
	alphabet := rapid.SampledFrom([]rune("ab\n"))
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringOfN(alphabet, 6, 9, -1), 1, 4).Draw(t, "secrets")
		r := NewRedactor(secrets)
		var text strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			if rapid.Bool().Draw(t, "secret") {
				text.WriteString(rapid.SampledFrom(secrets).Draw(t, "which"))
			} else {
				text.WriteString(rapid.StringOfN(alphabet, 0, 8, -1).Draw(t, "text"))
			}
		}
		checkStream(t, r, []byte(text.String()), func(left int) int { return rapid.IntRange(1, left).Draw(t, "write") })
	})
}

func FuzzRedactor(f *testing.F) {
	f.Add("secret-1", "abcabcab", []byte("it is secret-1 and abcabcabcab"), uint8(3))
	f.Add("aaaaaa", "aaaaaab", []byte("aaaaaaaaaaaaaab"), uint8(1))
	f.Fuzz(func(t *testing.T, a, b string, text []byte, width uint8) {
		checkStream(t, NewRedactor([]string{a, b}), text, func(left int) int { return min(left, 1+int(width%16)) })
	})
}

func checkStream(t interface{ Fatalf(string, ...any) }, r *Redactor, text []byte, next func(left int) int) {
	r.tokens = false // TestTokens has them
	want := reference(r.patterns, text)
	if got := string(r.Bytes(text)); got != want {
		t.Fatalf("Bytes(%q) = %q, want %q", text, got, want)
	}
	var out bytes.Buffer
	w := r.Writer(&out)
	for rest := text; len(rest) > 0; {
		n := next(len(rest))
		if _, err := w.Write(rest[:n]); err != nil {
			t.Fatalf("write: %v", err)
		}
		rest = rest[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	if out.String() != want {
		t.Fatalf("stream of %q = %q, want %q", text, out.String(), want)
	}
}

func BenchmarkRedactorLog(b *testing.B) {
	line := []byte("INFO 08-22 10:11:12 [loggers.py:118] Engine 000: Avg prompt throughput: 512.0 tokens/s, Running: 4 reqs\n")
	w := NewRedactor([]string{"hf_abcdefghijklmnop", "another-secret-value"}).Writer(discard{})
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := w.Write(line); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
