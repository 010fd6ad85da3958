package escape_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/servegate/pipeline/reports/escape"
)

func TestText(t *testing.T) {
	tests := []struct {
		name, in string
		limit    int
		want     string
	}{
		{"plain", "TTFT p99", 0, "TTFT p99"},
		{"white space", "  a\r\n\tb\u2028c\u00a0d  ", 0, "a b c d"},
		{"colour", "\x1b[1;31mred\x1b[0m", 0, "red"},
		{"window title", "a\x1b]0;title\ab", 0, "ab"},
		{"string terminator", "a\x1bP1$q\x1b\\b", 0, "ab"},
		{"unterminated", "a\x1b]0;not hidden", 0, "a0;not hidden"},
		{"lone escape", "a\x1b", 0, "a\ufffd"},
		{"control", "a\x00b\x9bc\u009bd", 0, "a\ufffdb\ufffdc\ufffdd"},
		{"bidirectional", "\u202egnp\u2066.exe", 0, "gnp.exe"},
		{"invisible", "a\u200bb\ufe0fc\U000e0041d\u3164e", 0, "abcde"},
		{"combining stays", "e\u0301", 0, "e\u0301"},
		{"cut", "0123456789", 5, "0123…"},
		{"cut at a space", "abc defgh", 5, "abc…"},
		{"just fits", "01234", 5, "01234"},
		{"empty", "", 5, ""},
	}
	for _, tt := range tests {
		if got := escape.Text(tt.in, tt.limit); got != tt.want {
			t.Errorf("%s: Text(%q, %d) = %q, want %q", tt.name, tt.in, tt.limit, got, tt.want)
		}
	}
}

func TestLine(t *testing.T) {
	if got, want := escape.Line("  a\tb\x1b[0m  c  ", 0), "  a    b  c"; got != want {
		t.Errorf("Line = %q, want %q", got, want)
	}
	if got, want := escape.Line(strings.Repeat("x", 1000), 10), "xxxxxxxxx…"; got != want {
		t.Errorf("Line = %q, want %q", got, want)
	}
}

func TestInline(t *testing.T) {
	tests := map[string]string{
		"rate=4 (256→16), 5 %":        "rate=4 (256→16), 5 %",
		"max_num_seqs":                "max_num_seqs",
		"_x_":                         "&#95;x&#95;",
		"perf.hcl:12":                 "perf.hcl:12",
		"inconclusive: needs ~9":      "inconclusive: needs &#126;9",
		"a|b":                         "a&#124;b",
		`a\|b`:                        "a&#92;&#124;b",
		"<b>&amp;":                    "&#60;b&#62;&#38;amp;",
		"@org/team #12":               "&#64;\u2060org/team &#35;\u206012",
		"GH-12 gh-12 GH-x":            "GH&#45;\u206012 gh&#45;\u206012 GH-x",
		"https://x.y":                 "https&#58;\u2060//x.y",
		"WWW.x.y":                     "WWW&#46;\u2060x.y",
		":tada:":                      "&#58;tada:",
		"`x` *y* [z](w) ![i](j) $m$~": "&#96;x&#96; &#42;y&#42; &#91;z&#93;(w) &#33;&#91;i&#93;(j) &#36;m&#36;&#126;",
	}
	for in, want := range tests {
		if got := escape.Inline(in, 0); got != want {
			t.Errorf("Inline(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCode(t *testing.T) {
	tests := map[string]string{
		"":               "",
		" \n ":           "",
		"rate=4":         "`rate=4`",
		"@x #1 www.a.b":  "`@x #1 www.a.b`",
		"a|b":            "<code>a&#124;b</code>",
		"a`b":            "<code>a&#96;b</code>",
		`a\`:             "<code>a&#92;</code>",
		"<www.a.b>":      "<code>&#60;www&#46;a&#46;b&#62;</code>",
		"a|b@example.eu": "<code>a&#124;b&#64;\u2060example&#46;eu</code>",
	}
	for in, want := range tests {
		if got := escape.Code(in, 0); got != want {
			t.Errorf("Code(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFence(t *testing.T) {
	got := escape.Fence([]string{"a ``` b", "</details>", "\x1b[31m````x\x1b[0m\n# y"}, 0)
	want := "`````text\na ``` b\n</details>\n````x # y\n`````\n"
	if got != want {
		t.Errorf("Fence = %q, want %q", got, want)
	}
}

func TestCSV(t *testing.T) {
	tests := map[string]string{
		"rate=4": "rate=4", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(1)": "'@SUM(1)",
		"\t=1": "'=1", "\r=1": "'=1", "\u200b=1": "'=1", "＝1": "'＝1", "": "", "'=1": "'=1",
	}
	for in, want := range tests {
		if got := escape.CSV(in); got != want {
			t.Errorf("CSV(%q) = %q, want %q", in, got, want)
		}
	}
}

// hostileText draws text in which the characters that matter are frequent.
func hostileText() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom(append(corpus(), "\x1b[", "\x1b]", "\u202e", "\xff", "\n", "|", "\\", "`", "@a", "#1", "://", "www.", "*", "_", "~",
			"[", "]", "(", ")", "<", ">", "&", "!")),
		rapid.String(),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
	})
}

func TestTextIsOneBoundedVisibleLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := hostileText().Draw(t, "text")
		limit := rapid.IntRange(1, 40).Draw(t, "limit")
		got := escape.Text(in, limit)
		if utf8.RuneCountInString(got) > limit {
			t.Fatalf("Text(%q, %d) = %q is too long", in, limit, got)
		}
		if !utf8.ValidString(got) {
			t.Fatalf("Text(%q) = %q is not UTF-8", in, got)
		}
		for _, r := range got {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r != ' ' && unicode.IsSpace(r) {
				t.Fatalf("Text(%q) = %q holds %U", in, got, r)
			}
		}
		if again := escape.Text(got, limit); again != got {
			t.Fatalf("Text is not idempotent: %q, then %q", got, again)
		}
	})
}

func TestLaTeX(t *testing.T) {
	for text, want := range map[string]string{
		`\input{/etc/passwd} 5% of $x_1^2$ & #1 ~`: `\textbackslash{}input\{/etc/passwd\} 5\% of \$x\_1\textasciicircum{}2\$ \& \#1 \textasciitilde{}`,
		"--tp-size ''a'' <b>":                      `-{}-tp-size '{}'a'{}' $<$b$>$`,
		"−3 … +4 µs ↓ —":                           `$-$3 \ldots{} +4 \textmu{}s $\downarrow$ ---`,
		"a\nb\x1b[31m":                             `a b`,
	} {
		if got := escape.LaTeX(text, 0); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
