package escape_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports/escape"
)

func TestCommands(t *testing.T) {
	for in, want := range map[string]string{
		"::error::x\n  ::add-mask::y\n":       ":\u2060:error::x\n  :\u2060:add-mask::y\n",
		"file.hcl:1: a::b\n":                  "file.hcl:1: a::b\n",
		"log ##[error]z ###[b]# #[c]":         "log ##\u2060[error]z ###\u2060[b]# #[c]",
		":::set-output\n":                     ":\u2060::set-output\n",
		"10%\r::error::the runner reads on":   "10%\r:\u2060:error::the runner reads on",
		"\u00a0\u2003::stop-commands::x":      "\u00a0\u2003:\u2060:stop-commands::x",
		"\u0085\v\f::group::x":                "\u0085\v\f:\u2060:group::x",
		"\xc2::error::\xe2\x80::warning::":    "\xc2::error::\xe2\x80::warning::", // no white space
		"::group::a\n\n::endgroup::\r\n::x::": ":\u2060:group::a\n\n:\u2060:endgroup::\r\n:\u2060:x::",
	} {
		if got := escape.Commands(in); got != want {
			t.Errorf("Commands(%q) = %q, want %q", in, got, want)
		}
	}
}

// carriedOut is the first command that a GitHub runner finds in a log: the rules of
// ActionCommand.TryParseV2 and TryParse of actions/runner, with every command registered.
func carriedOut(log string) string {
	for line := range strings.FieldsFuncSeq(log, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if _, rest, found := strings.Cut(strings.TrimSpace(line), "::"); found && strings.HasPrefix(strings.TrimSpace(line), "::") &&
			strings.Contains(rest, "::") {
			return line
		}
		if _, rest, found := strings.Cut(line, "##["); found && strings.Contains(rest, "]") {
			return line
		}
	}
	return ""
}

func TestCarriedOutFindsCommands(t *testing.T) {
	for _, log := range []string{"::error::x", "a\n \t::add-mask::x", "a\r::debug::", "x ##[error]y", "\u3000::notice file=a::b"} {
		if carriedOut(log) == "" {
			t.Errorf("%q passes", log)
		}
	}
}

// FuzzLogWriter: whatever a server prints, in whatever pieces, a runner carries out none of
// it, and all of it is there.
func FuzzLogWriter(f *testing.F) {
	for _, s := range append(corpus(), "::error::x", "\r::add-mask::a", "##[error]a", " ::stop-commands::t\n::t::", "\u0085::a::b",
		"\xe2\x80\x83::a::b") {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, width uint8) {
		var out bytes.Buffer
		w := escape.NewLogWriter(&out)
		for rest := text; len(rest) > 0; {
			n := min(len(rest), 1+int(width%8))
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if whole := escape.Commands(string(text)); whole != out.String() {
			t.Fatalf("%q in pieces is %q, in one %q", text, out.String(), whole)
		}
		if line := carriedOut(out.String()); line != "" {
			t.Fatalf("of %q a runner would carry out %q", text, line)
		}
		if got := strings.ReplaceAll(out.String(), "\u2060", ""); got != strings.ReplaceAll(string(text), "\u2060", "") {
			t.Fatalf("%q became %q", text, got)
		}
		if again := escape.Commands(out.String()); again != out.String() {
			t.Fatalf("%q, then %q", out.String(), again)
		}
	})
}
