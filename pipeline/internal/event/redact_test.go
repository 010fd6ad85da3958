package event

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/reports/escape"
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
		"go":                    fmt.Sprintf("%q", secret),
		"base64":                base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64, url":           base64.URLEncoding.EncodeToString([]byte(secret)),
		"basic, shift 1":        base64.StdEncoding.EncodeToString([]byte("u:u:" + secret)),
		"basic, shift 2":        base64.StdEncoding.EncodeToString([]byte("user:" + secret + ":x")),
		"twice in a line":       secret + secret,
		"address, every byte":   percent(secret, "%%%02X"),
		"address, small digits": percent(secret, "%%%02x"),
		"address, small": strings.NewReplacer("%C3%BC", "%c3%bc", "%3C", "%3c", "%3E", "%3e", "%5C", "%5c", "%2F",
			"%2f").Replace(url.PathEscape(secret)),
		"python's json":    `hf_\"a+b/c&d<e>\\\u00fc`,
		"python's, large":  `hf_\"a+b/c&d<e>\\\u00FC`,
		"php's json":       `hf_\"a+b\/c&d<e>\\ü`,
		"html":             html.EscapeString(secret),
		"html template":    template.HTMLEscapeString(secret),
		"hex":              hex.EncodeToString([]byte(secret)),
		"hex, large":       strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"base64 in base64": base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(secret)))),
		"login in a Secret": base64.StdEncoding.EncodeToString([]byte("auth: " +
			base64.StdEncoding.EncodeToString([]byte("u:"+secret)))),
		"base32, hex":          base32.HexEncoding.EncodeToString([]byte(secret)),
		"bytes of Go":          fmt.Sprintf("%d", []byte(secret)),
		"bytes of Python":      strings.ReplaceAll(fmt.Sprintf("%d", []byte(secret)), " ", ", "),
		"bytes without spaces": strings.ReplaceAll(fmt.Sprintf("%d", []byte(secret)), " ", ","),
		"decimal entities":     entities(secret, "&#%d;"),
		"hexadecimal entities": entities(secret, "&#x%x;"),
		"markdown":             escape.Inline(secret, 0),
		"markdown code":        escape.CodeElement(secret, 0),
		"javascript":           template.JSEscapeString(secret),
		"shell, quoted":        `'hf_"a+b/c&d<e>\ü'`,
		"shell, escaped":       `hf_\"a+b/c\&d\<e\>\\ü`,
		"shell, parts":         `'hf_'"\""'a+b/c&d<e>\ü'`,
		"go, ascii":            strconv.QuoteToASCII(secret),
		"json in json":         quote(quote(secret)),
		"json in html":         html.EscapeString(quote(secret)),
		"address in json":      quote("https://h/?q=" + url.QueryEscape(secret)),
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

// entities writes every character in a form.
func entities(s, form string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, form, r)
	}
	return b.String()
}

func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestRedactWithin: what is invisible does not hide a secret.
func TestRedactWithin(t *testing.T) {
	for _, secret := range []string{"correcthorse", "/9j4AAQ+kZJRg==", `p<&"w+x'y`, "pässwörd", "ghp_" + strings.Repeat("aB3", 12)} {
		r := NewRedactor([]string{secret})
		runes := []rune(secret)
		for name, hidden := range map[string]string{
			"colour": "\x1b[31m", "title": "\x1b]0;x\a", "string": "\x1bPq\x1b\\", "escape": "\x1b", "c1": "\u009b", "zero width space": "\u200b",
			"zero width non-joiner": "\u200c",
			"joiner":                "\u2060", "bom": "\ufeff", "soft hyphen": "\u00ad", "bidi": "\u202e", "isolate": "\u2066",
			"combining":     "\u0301",
			"two combining": "\u0301\u0308", "cr": "\r",
			"null": "\x00", "bell": "\a", "backspace": "\b", "erased": "x\b", "variation": "\ufe0f", "tag": "\U000e0041", "bad byte": "\xff",
			"filler": "\u3164", "delete": "\x7f",
		} {
			for _, at := range []int{1, len(runes) / 2, len(runes) - 1} {
				dirty := string(runes[:at]) + hidden + string(runes[at:])
				for form, text := range map[string]string{"plain": dirty, "json": quote(dirty), "go": strconv.Quote(dirty),
					"html": html.EscapeString(dirty), "query": url.QueryEscape(dirty)} {
					if got := r.String("before " + text + " behind"); !strings.Contains(got, Mask) || len(got) > len("before  behind")+len(Mask)+4 {
						t.Errorf("%s with %s at %d as %s: %q keeps the secret", secret, name, at, form, got)
					}
				}
			}
		}
	}
}

// TestRedactJSON: what is masked stays JSON, and figures stay figures.
func TestRedactJSON(t *testing.T) {
	r := NewRedactor([]string{"123456789", `abc"}, {`, "line\\n1"})
	in := map[string]any{"n": 123456789, "s": "is 123456789", "b": []string{`abc`, `x abc"}, {y`}, "c": "line\\n1", "123456789": true}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(r.JSON(text), &out); err != nil {
		t.Fatalf("%v: %s", err, r.JSON(text))
	}
	want := map[string]any{"n": 123456789.0, "s": "is (redacted)", "b": []any{"abc", "x (redacted)y"}, "c": "(redacted)", "(redacted)": true}
	if d := cmp.Diff(want, out); d != "" {
		t.Error(d)
	}
}

// TestRedactHarmless: what only resembles a secret stays.
func TestRedactHarmless(t *testing.T) {
	r := NewRedactor([]string{"correcthorse", "p&ss<word", "a b c d"})
	for _, text := range []string{
		"correct horse", "correct\nhorse", "p & ss < word", "pass&lt;word", "/usr/lib/correct/horse", "100%25 of \\n it",
		"meta-llama/Llama-3.1-8B", "v0.11.0", "true", "\x1b[31mred\x1b[0m",
		"e\u0301te\u0301", "sha256:0123456789abcdef", "&nbsp;&amp;", "a+b+c", strings.Repeat("x", 300_000),
	} {
		if got := r.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestLearn(t *testing.T) {
	r := NewRedactor(nil)
	var out bytes.Buffer
	w := r.Writer(&out)
	r.Learn("secret-1")
	if _, err := w.Write([]byte("a secret-1.")); err != nil || out.String() != "a (redacted)." {
		t.Errorf("%q, %v", out.String(), err)
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
		{"plain?\n", "plain?\n"},
		{"it is (sec", "it is ("},
		{"ret", ""},
		{"-1!", "(redacted)!"},
		{" secre", " "},
		{"cy)", "secrecy)"},
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
	if _, err := NewRedactor(nil).Writer(brokenWriter{}).Write([]byte("x\n")); err == nil {
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

// exact is a redactor of these secrets alone, without what looks like a token.
func exact(secrets []string) *Redactor {
	r := NewRedactor(nil)
	set := map[string]bool{}
	for _, s := range secrets {
		set[s] = true
	}
	r.set.Store(newPatterns(set, false, nil))
	return r
}

func TestRedactorProperty(t *testing.T) {
	// A small alphabet makes overlaps, repetitions and partial matches common.
	alphabet := rapid.SampledFrom([]rune("ab"))
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringOfN(alphabet, 6, 9, -1), 1, 4).Draw(t, "secrets")
		r := exact(secrets)
		var text strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			if rapid.Bool().Draw(t, "secret") {
				text.WriteString(rapid.SampledFrom(secrets).Draw(t, "which"))
			} else {
				text.WriteString(rapid.StringOfN(alphabet, 0, 8, -1).Draw(t, "text"))
			}
		}
		want := reference(slices.Concat(slices.Collect(maps.Values(r.set.Load().all.index))...), []byte(text.String()))
		if got := r.String(text.String()); got != want {
			t.Fatalf("%q became %q, want %q", text.String(), got, want)
		}
		checkStream(t, r, []byte(text.String()), func(left int) int { return rapid.IntRange(1, left).Draw(t, "write") })
	})
}

// TestRedactorStreamProperty: nothing is left of a stream, whatever its pieces are.
func TestRedactorStreamProperty(t *testing.T) {
	pieces := []string{"secret", "s", "e", "\x1b[31m", "\x1b[", "\x1b", "\u200b", "\u0301", "&lt;", "&#60;", "&#x3C;", "&", "#", ";", "%3C",
		"%", "3", "C", `\u003c`, `\`, "u", "<", "<two", " ", "\n", "+", "\"", "x"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 16).Draw(t, "pieces"), "")
		r := exact([]string{"secret<two", "one two", `a"secret`})
		checkNothingLeft(t, r, r.String(text))
		checkNothingLeft(t, r, stream(t, r, []byte(text), func(left int) int { return rapid.IntRange(1, left).Draw(t, "write") }))
	})
}

func FuzzRedactor(f *testing.F) {
	f.Add("secret-1", "abcabcab", []byte("it is secret-1 and abcabcabcab"), uint8(3))
	f.Add("aaaaaa", "aaaaaab", []byte("aaaaaaaaaaaaaab"), uint8(1))
	f.Add("p&ss<word", "x+y z'w", []byte("p&amp;amp;ss%3Cword x%2by%20z&#39;w"), uint8(1))
	f.Fuzz(func(t *testing.T, a, b string, text []byte, width uint8) {
		r := exact([]string{a, b})
		for _, s := range []string{a, b} {
			if got := r.String(string(text) + s + string(text)); len(s) >= minSecret && strings.TrimSpace(s) == s &&
				!strings.ContainsAny(s, "\r\n") && strings.Contains(got, s) && !strings.Contains(Mask+string(text)+Mask, s) {
				t.Fatalf("%q is left in %q", s, got)
			}
		}
		if bytes.IndexByte(text, '\b') < 0 && !bytes.Contains(text, []byte{'\\'}) {
			checkNothingLeft(t, r, stream(t, r, text, func(left int) int { return min(left, 1+int(width%16)) }))
		}
	})
}

type failer interface{ Fatalf(string, ...any) }

// checkNothingLeft masks once more, which must find nothing.
func checkNothingLeft(t failer, r *Redactor, masked string) {
	if again := r.String(masked); again != masked {
		t.Fatalf("a secret is left in %q: %q", masked, again)
	}
}

// checkStream compares a stream with the whole.
func checkStream(t failer, r *Redactor, text []byte, next func(left int) int) {
	if got, want := stream(t, r, text, next), string(r.Bytes(text)); got != want {
		t.Fatalf("stream of %q = %q, want %q", text, got, want)
	}
}

// stream masks text in writes of the lengths that next gives.
func stream(t failer, r *Redactor, text []byte, next func(left int) int) string {
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
	return out.String()
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

// No figure is lost where names of several differ by secrets alone.
func TestFiguresStayApart(t *testing.T) {
	r := NewRedactor([]string{"pK7wX2mQ9zR4", "tV6yB1nCsL5d"})
	figures := map[string]float64{"of pK7wX2mQ9zR4": 1, "of tV6yB1nCsL5d": 2, "of all": 3}
	r.Value(&figures)
	want := map[string]float64{"of (redacted)": 1, "of (redacted) 2": 2, "of all": 3}
	if !maps.Equal(figures, want) {
		t.Errorf("%v, want %v", figures, want)
	}
}
