package session_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"html/template"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/pipeline/internal/ui"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/github"
	"github.com/servegate/pipeline/reports/github/githubtest"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/result"
)

// plantedSecrets have every shape: what machines draw and what people choose, with
// characters that formats escape.
var plantedSecrets = []string{
	"/9j4AAQSkZJRgABAQEAYABgAAD", "correcthorse", `p<&"w+x'y|z`, "pässwörd-ü", "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "hunter2hunter2",
	"s3cret%41&amp;word",
	`back\slash\nword`, "one two  three", "`$(id)`-secret!", `{"k":["x"]}`, "Zm9v+/8qqq==", "日本語のパスワード", "*bold*_under_[a](b)",
	"@team#12 GH-3 www.x", "84926173",
}

// hidden is what is invisible within a text.
var hidden = []string{
	"", "\x1b[31m", "\x1b]0;t\a", "\x1b", "\u200b", "\u200c", "\ufeff", "\u00ad", "\u202e", "\u2066", "\u0301", "\r", "\b", "x\b", "\x00",
	"\u009b", "\ufe0f", "\U000e0041", "\x7f", "\u2060",
}

// encodings are how programs write a text.
var encodings = map[string]func(string) string{
	"plain": func(s string) string { return s }, "html": html.EscapeString, "template": template.HTMLEscapeString,
	"javascript": template.JSEscapeString,
	"query":      url.QueryEscape, "path": url.PathEscape, "go": strconv.Quote, "go ascii": strconv.QuoteToASCII, "json": asJSON,
	"json in json": func(s string) string { return asJSON(asJSON(s)) },
	"decimal":      func(s string) string { return eachRune(s, "&#%d;") }, "percent": func(s string) string { return eachByte(s, "%%%02x") },
	"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"basic":  func(s string) string { return base64.URLEncoding.EncodeToString([]byte("u:" + s)) },
	"hex":    func(s string) string { return hex.EncodeToString([]byte(s)) }, "shell": func(s string) string {
		return "'" +
			strings.ReplaceAll(s, "'", `'\''`) + "'"
	},
}

func asJSON(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func eachRune(s, form string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, form, r)
	}
	return b.String()
}

func eachByte(s, form string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, form, s[i])
	}
	return b.String()
}

// FuzzSecrets plants a secret in the texts of a result, of events, of logs, of diagnostics
// and of errors, and looks for it in every output as a reader would.
func FuzzSecrets(f *testing.F) {
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range encodings {
			if !yield(name) {
				return
			}
		}
	})
	step := 23
	if *full {
		step = 7
	}
	for i, secret := range plantedSecrets {
		for j, name := range names {
			if (i+j)%step != 0 {
				continue // a document takes its time; the redactor's own tests have them all
			}
			f.Add(secret, name, hidden[(i*3+j)%len(hidden)], uint8(i+j), uint64(i*100+j))
		}
	}
	document, err := os.ReadFile(filepath.Join("..", "..", "..", "reports", "testdata", "head-dead.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, secret, encoding, within string, at uint8, seed uint64) {
		encode := encodings[encoding]
		if encode == nil || !fitsAsSecret(secret) || !slices.Contains(hidden, within) {
			t.Skip()
		}
		runes := []rune(secret)
		cut := 1 + int(at)%(len(runes)-1)
		dirty := string(runes[:cut]) + within + string(runes[cut:])
		if encoding == "base64" || encoding == "basic" || encoding == "hex" {
			dirty = secret // what is drawn into a code cannot be taken out by a reader
		}
		p := planter{text: encode(dirty), draw: rand.New(rand.NewPCG(seed, 1))}
		redact := event.NewRedactor([]string{secret})
		for name, text := range outputs(t, document, p, redact) {
			if where := leak(text, secret); where != "" {
				t.Errorf("%q, written as %q in the text %q, is whole in %s:\n%s", secret, encoding, p.text, name, where)
			}
		}
	})
}

// fitsAsSecret leaves out what no redactor can mask without masking everything.
func fitsAsSecret(s string) bool {
	return len(s) >= 8 && len(s) < 200 && len([]rune(s)) > 4 && visible(s) == s && strings.TrimSpace(s) == s &&
		!strings.ContainsAny(s, "\n\r") && strings.ToValidUTF8(s, "") == s &&
		len(visible(strings.Trim(s, "'\"`\\+ ")))*2 > len(s)
}

// planter puts a text into others.
type planter struct {
	text string
	draw *rand.Rand
}

// into plants the text into about a third of the strings of a value.
func (p planter) into(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			p.into(v.Elem())
		}
	case reflect.String:
		if v.CanSet() && v.Type() == reflect.TypeFor[string]() && p.draw.IntN(3) == 0 {
			v.SetString("before " + p.text + " behind")
		}
	case reflect.Slice:
		for i := range v.Len() {
			p.into(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				p.into(v.Field(i))
			}
		}
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.String {
			for _, k := range v.MapKeys() {
				v.SetMapIndex(k, reflect.ValueOf("before "+p.text+" behind").Convert(v.Type().Elem()))
			}
		}
	}
}

// outputs renders everything that leaves the program.
func outputs(t *testing.T, document []byte, p planter, redact *event.Redactor) map[string]string {
	t.Helper()
	doc, err := result.Decode(bytes.NewReader(document), result.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	p.into(reflect.ValueOf(doc))
	out := map[string]string{}
	through := func(name, file string, write func(io.Writer) error) {
		var b bytes.Buffer
		w := redact.FileWriter(file, &b)
		if err := errors.Join(write(w), w.Close()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = b.String()
	}
	// As stored results are rendered again: behind the writer alone.
	for _, f := range reports.AllFormats() {
		through(f.Name+", as it comes", f.File(), func(w io.Writer) error { return f.Document(w, doc, reports.Options{Width: 100}) })
	}
	events(p, redact, out)
	logs(t, p, redact, out)
	problem := hcl.Diagnostics{{Severity: hcl.DiagError, Summary: p.text, Detail: "before " + p.text, Subject: &hcl.Range{Filename: "f.hcl",
		Start: hcl.InitialPos, End: hcl.InitialPos}}}
	source := map[string]*hcl.File{"f.hcl": {Bytes: []byte("a = " + p.text + "\n")}}
	through("diagnostics", "", func(w io.Writer) error { return diag.Text(w, source, problem, diag.Options{Width: 80}) })
	through("diagnostics.json", "d.json", func(w io.Writer) error { return diag.JSON(w, source, problem) })
	through("an error", "", func(w io.Writer) error { _, err := fmt.Fprintf(w, "pipeline: %v\n", p.text); return err })

	// As a run ends: masked, then rendered.
	redact.Value(doc)
	for _, f := range reports.AllFormats() {
		through(f.Name, f.File(), func(w io.Writer) error { return f.Document(w, doc, reports.Options{Width: 100}) })
	}
	summary := filepath.Join(t.TempDir(), "summary.md")
	if err := reports.Summary(summary, doc, reports.Options{}, redact.Bytes); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(summary)
	if err != nil {
		t.Fatal(err)
	}
	out["step summary"] = string(text)
	out["GitHub"] = posted(t, doc, p, redact)
	return out
}

// events shows events that a server has a say in.
func events(p planter, redact *event.Redactor, out map[string]string) {
	var plain, tty, lines, journal bytes.Buffer
	dead := make(chan time.Time)
	views := []ui.View{ui.NewPlain(&plain, ui.Options{}), ui.NewTTY(&tty, ui.Options{Tick: dead}), ui.NewJSON(&lines)}
	kept := event.NewJournal(nopSync{&journal}, redact)
	for _, view := range views {
		kept.Show(view)
	}
	for i, kind := range []event.Type{event.Diagnostic, event.LaunchState, event.LaunchFail, event.StepEnd, event.RunEnd, event.Summary} {
		e := event.Event{
			Seq: i + 1, Type: kind, Addr: p.text, Text: p.text, State: p.text, Detail: p.text, Severity: event.Warning, Path: p.text, Label: p.text,
			Failure:  &result.Failure{Phase: "ready", Class: "x", Evidence: p.text, LogTail: []string{p.text}},
			Describe: map[string]string{p.text: p.text}, Outputs: map[string]string{"o": p.text},
			Process: &event.Process{PID: 1, Argv: []string{p.text}},
		}
		kept.Handle(e)
	}
	for _, view := range views {
		_ = view.Close() // into memory
	}
	out["plain view"], out["terminal view"], out["events"], out["journal"] = plain.String(), tty.String(), lines.String(), journal.String()
}

type nopSync struct{ io.Writer }

func (nopSync) Sync() error { return nil }

// logs has a server write in pieces.
func logs(t *testing.T, p planter, redact *event.Redactor, out map[string]string) {
	t.Helper()
	dir, err := store.Create(filepath.Join(t.TempDir(), "run"), redact)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }() // read below
	log, err := dir.Log("server")
	if err != nil {
		t.Fatal(err)
	}
	for rest := "INFO before " + p.text + " behind\n"; rest != ""; {
		n := min(len(rest), 1+p.draw.IntN(7))
		_, _ = log.Write([]byte(rest[:n])) // never fails
		rest = rest[n:]
	}
	tail := strings.Join(log.Tail(), "\n")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir.Path(), log.Path()))
	if err != nil {
		t.Fatal(err)
	}
	out["log"], out["tail of a log"] = string(text), tail
}

// posted is what GitHub is sent of a result.
func posted(t *testing.T, doc *result.Document, p planter, redact *event.Redactor) string {
	t.Helper()
	const sha = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"
	s := githubtest.NewVirtual()
	s.AddPullRequest(githubtest.PullRequest{Number: 7, HeadSHA: sha, HeadRepo: "o/r", HeadBranch: "fix"})
	wire := &recording{next: s.Transport()}
	api, err := github.NewClient(github.Options{URL: s.URL, Token: "token", Repo: "o/r", Transport: wire, Clock: &stopped{}})
	if err != nil {
		t.Fatal(err)
	}
	e := github.Event{Name: "pull_request", Repo: "o/r", Number: 7, SHA: sha, HeadRepo: "o/r", HeadBranch: "fix",
		ServerURL: "https://github.com"}
	settings := github.Settings{Comment: publish.CommentUpdate, Check: "perf", Status: "perf",
		Changed: []publish.GateChange{{Gate: p.text, Setting: "margin", Old: p.text, New: "1"}}, Command: p.text}
	pub := &github.Publisher{API: api, Event: e, Settings: settings, Mask: redact.String}
	pub.Start(t.Context())
	pub.Finish(t.Context(), doc)
	(&github.Publisher{API: api, Event: e, Settings: settings, Mask: redact.String}).Fail(t.Context(), "before "+p.text, true)
	return wire.sent.String()
}

type recording struct {
	next http.RoundTripper
	sent strings.Builder
}

func (r *recording) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		text, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		r.sent.Write(append(text, '\n'))
		req.Body = io.NopCloser(bytes.NewReader(text))
	}
	return r.next.RoundTrip(req)
}

// stopped is a clock that does not run.
type stopped struct{ at time.Duration }

func (s *stopped) Now() time.Time {
	return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).Add(s.at)
}

func (s *stopped) Sleep(ctx context.Context, d time.Duration) error {
	s.at += d
	return ctx.Err()
}

// leak is the line in which a reader finds a secret, "" if there is none.
func leak(text, secret string) string {
	codes := []string{secret, hex.EncodeToString([]byte(secret)), base64.RawStdEncoding.EncodeToString([]byte(secret))}
	for line := range strings.SplitSeq(text, "\n") {
		for _, seen := range readers(line) {
			for _, code := range codes {
				if strings.Contains(seen, code) {
					return line
				}
			}
		}
	}
	return ""
}

var (
	sequences = regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\a\x1b]*(\a|\x1b\\\\)|[@-Z\\\\^_])")
	literals  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
)

// readers are the ways in which a person, or a browser, reads a line.
func readers(line string) []string {
	out := []string{line, visible(line), html.UnescapeString(line), visible(html.UnescapeString(line)),
		visible(html.UnescapeString(visible(line)))}
	for _, literal := range literals.FindAllString(line, -1) {
		var s string
		if json.Unmarshal([]byte(literal), &s) == nil {
			out = append(out, s, visible(s), html.UnescapeString(visible(s)), visible(html.UnescapeString(s)))
		}
		if s, err := strconv.Unquote(literal); err == nil {
			out = append(out, visible(s))
		}
	}
	for _, s := range slices.Clone(out) {
		if plain, err := url.PathUnescape(s); err == nil {
			out = append(out, visible(plain))
		}
		if plain, err := url.QueryUnescape(s); err == nil {
			out = append(out, visible(plain))
		}
	}
	return out
}

// visible is a text without what is not seen.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == unicode.ReplacementChar || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Mn, unicode.Me, unicode.Variation_Selector,
			unicode.Other_Default_Ignorable_Code_Point):
			return -1
		}
		return r
	}, sequences.ReplaceAllString(s, ""))
}
