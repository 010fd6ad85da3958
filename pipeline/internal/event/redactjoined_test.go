package event

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// wrap breaks a text into lines as base64(1) does.
func wrap(text string, width int) string {
	var out strings.Builder
	for len(text) > width {
		out.WriteString(text[:width] + "\n")
		text = text[width:]
	}
	return out.String() + text
}

// dump prints as hexdump -C (by encoding/hex) or xxd does.
func xxd(text string) string {
	var out strings.Builder
	for at := 0; at < len(text); at += 16 {
		line := []byte(text[at:min(len(text), at+16)])
		fmt.Fprintf(&out, "%08x:", at)
		for i := 0; i < len(line); i += 2 {
			out.WriteString(" " + hex.EncodeToString(line[i:min(len(line), i+2)]))
		}
		fmt.Fprintf(&out, "  %s\n", printable.ReplaceAllString(string(line), "."))
	}
	return out.String()
}

var printable = regexp.MustCompile(`[^ -~]`)

func each(text, form string) string {
	var out strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&out, form, c)
	}
	return out.String()
}

// encodings are the forms in which programs print what they were given.
func encodings(secret string) map[string]string {
	long := "user=" + strings.Repeat("x", 47) + "&key=" + secret + "&end"
	b64 := base64.StdEncoding.EncodeToString([]byte(long))
	b32 := base32.StdEncoding.EncodeToString([]byte(long))
	words := ""
	for i := 0; i+1 < len(secret); i += 2 {
		words += fmt.Sprintf(" %02x%02x", secret[i+1], secret[i])
	}
	return map[string]string{
		"capitals":              strings.ToUpper(secret),
		"small letters":         strings.ToLower(secret),
		"spaced":                strings.Join(strings.Split(secret, ""), " "),
		"one character a line":  strings.Join(strings.Split(secret, ""), "\n"),
		"base64":                b64,
		"base64 at 76":          wrap(b64, 76),
		"base64 at 64":          wrap(b64, 64),
		"base64 at 76, indents": strings.ReplaceAll(wrap(b64, 76), "\n", "\n    "),
		"base64 at 76 with cr":  strings.ReplaceAll(wrap(b64, 76), "\n", "\r\n"),
		"base64 in json":        quote(wrap(b64, 76)),
		"base64, spaced":        strings.Join(strings.Split(b64, ""), " "),
		"base32":                b32,
		"base32 at 76":          wrap(b32, 76),
		"base32, small":         strings.ToLower(b32),
		"hex with spaces":       each(secret, "%02x "),
		"hex with colons":       each(secret, "%02X:"),
		"hex with commas":       each(secret, "0x%02x, "),
		"hex wrapped":           wrap(hex.EncodeToString([]byte(long)), 60),
		"escapes":               each(secret, `\x%02x`),
		"hexdump -C":            hex.Dump([]byte(long)),
		"hexdump":               "0000000" + words + "\n",
		"xxd":                   xxd(long),
		"xxd -p":                wrap(hex.EncodeToString([]byte(long)), 60),
		"od -A x -t x1z":        regexp.MustCompile(`(?m)\|(.*)\|$`).ReplaceAllString(hex.Dump([]byte(long)), ">$1<"),
		"od -An -tx1":           " " + each(secret, "%02x "),
	}
}

// checkForms demands that nothing of 4 bytes of a secret can be read back from a text.
func checkForms(t *testing.T, name, got, secret string) {
	t.Helper()
	digits := regexp.MustCompile(`(?i)(^|\n)[0-9a-f]{7,8}:? |\s+[|>].*[|<]`).ReplaceAllString(got, "")
	plain := regexp.MustCompile(`[\s:,]|0x`).ReplaceAllString(strings.ToLower(got), "")
	bare := regexp.MustCompile(`[\s:,]|0x`).ReplaceAllString(strings.ToLower(digits), "")
	for i := range len(secret) - 5 {
		part := strings.ToLower(secret[i : i+6])
		for _, form := range append(aligned(base64.RawStdEncoding, secret[i:i+6], 3, 4), part, hex.EncodeToString([]byte(secret[i:i+6]))) {
			if form = strings.ToLower(form); strings.Contains(plain, form) || strings.Contains(bare, form) {
				t.Fatalf("%s keeps %q: %q", name, form, got)
			}
		}
	}
	if !strings.Contains(got, Mask) {
		t.Errorf("%s is not masked: %q", name, got)
	}
}

func TestRedactEncodings(t *testing.T) {
	const secret = "pK7wX2mQ9zR4tV6yB1nC"
	r := NewRedactor([]string{secret})
	for name, text := range encodings(secret) {
		text = "before\n" + text + "\nbehind"
		got := r.String(text)
		checkForms(t, name, got, secret)
		if !strings.HasPrefix(got, "before\n") || !strings.HasSuffix(got, "behind") {
			t.Errorf("%s lost what is around it: %q", name, got)
		}
		for width := 1; width < 80; width += 13 {
			checkForms(t, fmt.Sprintf("%s in writes of %d bytes", name, width),
				stream(t, r, []byte(text), func(left int) int { return min(left, width) }), secret)
		}
		lines := strings.SplitAfter(text, "\n")
		checkForms(t, name+" line by line", stream(t, r, []byte(text), func(left int) int {
			for len(lines) > 1 && len(strings.Join(lines, "")) > left {
				lines = lines[1:]
			}
			return min(left, len(lines[0]))
		}), secret)
	}
}

// TestLineWriter writes lines that end as a secret begins, in each form. Each line comes out at once.
func TestLineWriter(t *testing.T) {
	const secret = "pK7wX2mQ9zR4tV6yB1nC"
	known := NewRedactor([]string{secret, "first line of a key\nsecond line of a key"})
	var lines []string
	for form := range known.set.Load().all.seen {
		for n := 1; n < len(form); n++ {
			lines = append(lines, "note: "+form[:n]+"\n", form[:n]+"\n", each(form[:n], "%c ")+"\n")
		}
	}
	for _, text := range encodings(secret) {
		lines = append(lines, strings.SplitAfter(text, "\n")[0]+"\n")
	}
	lines = append(lines, "Bearer\t\n", "\x1b]0;title\n", "100%\n", "a &\n", "\\\n", "00000000\n", "\n",
		"progress 1\rprogress 2\n", "one\ntwo p\n")
	for _, r := range []*Redactor{nil, NewRedactor(nil), known} {
		for _, line := range lines {
			var out bytes.Buffer
			w := r.LineWriter(&out)
			for range 2 {
				if _, err := w.Write([]byte(line)); err != nil {
					t.Fatal(err)
				}
				if len(w.pending) > 0 || !strings.HasSuffix(out.String(), "\n") {
					t.Fatalf("after %q: %q came out, %q is held back", line, out.String(), w.pending)
				}
			}
		}
	}
}

// A LineWriter masks secrets that are spread over the writes of one line, or over the lines of one write.
func TestLineWriterMasks(t *testing.T) {
	const secret = "pK7wX2mQ9zR4tV6yB1nC"
	r := NewRedactor([]string{secret})
	var out bytes.Buffer
	w := r.LineWriter(&out)
	for _, step := range []struct{ write, want string }{
		{"one p\nkey pK7wX2m", "one p\nkey "},
		{"Q9zR4tV6yB1nC", ""},
		{".\n", "(redacted).\n"},
		{"p", ""},
		{"K\n", "pK\n"},
		{"the end p", "the end "},
	} {
		out.Reset()
		if _, err := w.Write([]byte(step.write)); err != nil {
			t.Fatal(err)
		}
		if out.String() != step.want {
			t.Errorf("after %q: got %q, want %q", step.write, out.String(), step.want)
		}
	}
	out.Reset()
	if err := w.Close(); err != nil || out.String() != "p" {
		t.Errorf("at the end: %q, %v", out.String(), err)
	}
	for name, text := range encodings(secret) {
		for _, end := range []string{"", "\n", "\nbehind"} {
			var out bytes.Buffer
			w := r.LineWriter(&out)
			_, err := w.Write([]byte("before\n" + text + end))
			if err := errors.Join(err, w.Close()); err != nil {
				t.Fatal(err)
			}
			checkForms(t, name, out.String(), secret)
		}
	}
}

// Without a secret that is known nothing of a whole line is held back, in logs neither.
func TestWriterWithoutSecrets(t *testing.T) {
	for _, line := range []string{"INFO: ready hf\n", "sk-\n", "AKI\n", "00000000  70 4b\n", "cEs3\n", "a: b,\n", "\n"} {
		var out bytes.Buffer
		w := NewRedactor(nil).Writer(&out)
		if _, err := w.Write([]byte(line)); err != nil || out.String() != line {
			t.Errorf("%q became %q, %v", line, out.String(), err)
		}
	}
}

// Text that is encoded but has no secret stays, and so do dumps of it.
func TestRedactEncodingsHarmless(t *testing.T) {
	r := NewRedactor([]string{"pK7wX2mQ9zR4tV6yB1nC", "correcthorse"})
	for name, text := range encodings("another-text-of-this-length") {
		if got := r.String(text); got != text {
			t.Errorf("%s became %q", name, got)
		}
	}
	for _, text := range []string{
		"correct horse", "correct\nhorse", "0000abcd  12 34", "12:34:56 07", "deadbeef", "2026-01-02 03:04:05 INFO: 0x10, 0x20", "a,b;c-d",
	} {
		if got := r.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// JSON is masked as it comes in as it is at once.
func TestJSONWriter(t *testing.T) {
	r := NewRedactor([]string{"123456789", `abc"}, {`, "line\\n1", "secret-word"})
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.SampledFrom([]string{"123456789", `abc"}, {`, "x", "", "secret-word", `\`, `"`, "é", "line\\n1"}), 0,
			8).Draw(t, "texts")
		data, err := json.Marshal(map[string]any{"n": 123456789, "list": texts, strings.Join(texts, ""): true})
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "torn") {
			data = data[:len(data)/2]
		}
		var out bytes.Buffer
		w := r.FileWriter("x.json", &out)
		for rest := data; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "write")
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if want := string(r.JSON(data)); out.String() != want {
			t.Fatalf("%q, want %q", out.String(), want)
		}
	})
}

// A string beyond what is waited for is masked all the same.
func TestJSONWriterLongString(t *testing.T) {
	r := NewRedactor([]string{"secret-word"})
	var out bytes.Buffer
	w := r.FileWriter("x.json", &out)
	for _, part := range []string{`{"a": "`, strings.Repeat("x", longString), "secret-", `word", "b": 1}`} {
		if _, err := w.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil || !json.Valid(out.Bytes()) || strings.Contains(out.String(), "secret-word") ||
		!strings.Contains(out.String(), Mask) {
		t.Errorf("%v, %d bytes, ending %q", err, out.Len(), out.String()[max(0, out.Len()-40):])
	}
}
