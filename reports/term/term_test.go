package term_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/servegate/pipeline/reports/term"
)

func TestEscape(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "vllm 0.11", "vllm 0.11"},
		{"letters beyond ASCII", "naïve 日本語 👍 ✅", "naïve 日本語 👍 ✅"},
		{"colour", "\x1b[31mred\x1b[0m", "␛[31mred␛[0m"},
		{"line ends and tabs", "a\r\n\tb", "a␍␊␉b"},
		{"NUL, bell, delete", "\x00\a\x7f", "␀␇␡"},
		{"C1 CSI", "\u009b31m", "�31m"},
		{"raw byte of C1", "\x9b31m", "�31m"},
		{"bidirectional override", "a\u202eb\u2066c", "a�b�c"},
		{"invisible", "pass\u200bword\ufeff", "pass�word�"},
		{"tags", "x\U000e0041", "x�"},
	}
	for _, tt := range tests {
		if got := term.Escape(tt.in); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := term.EscapeLines("a\n\tb\x1b"); got != "a\n\tb␛" {
		t.Errorf("EscapeLines: %q", got)
	}
}

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "é": 1, "e\u0301": 1, "日本": 4, "ｗ": 2, "👍": 2, "…": 1, "█": 1} {
		if got := term.Width(s); got != want {
			t.Errorf("Width(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	tests := []struct {
		s           string
		n           int
		right, left string
	}{
		{"abcdef", 6, "abcdef", "abcdef"},
		{"abcdef", 5, "abcd…", "…cdef"},
		{"abcdef", 1, "…", "…"},
		{"abcdef", 0, "", ""},
		{"日本語", 5, "日本…", "…本語"},
		{"日本語", 4, "日…", "…語"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…", "…e\u0301"},
	}
	for _, tt := range tests {
		if got := term.Cut(tt.s, tt.n); got != tt.right {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.right)
		}
		if got := term.CutLeft(tt.s, tt.n); got != tt.left {
			t.Errorf("CutLeft(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.left)
		}
	}
}

func TestWrap(t *testing.T) {
	tests := []struct {
		name, s string
		n       int
		want    []string
	}{
		{"short", "a b", 10, []string{"a b"}},
		{"at a space", "aaa bbb ccc", 7, []string{"aaa bbb", "ccc"}},
		{"a long word", "a /very/long/path b", 5, []string{"a", "/very/long/path", "b"}},
		{"line ends", "a\n\nb", 5, []string{"a", "", "b"}},
		{"laid out", "  keep   this as it is", 5, []string{"  keep   this as it is"}},
		{"a mark alone is a word", "\u0301 aaa bbb", 5, []string{"\u0301 aaa", "bbb"}},
		{"no width", "a b c", 0, []string{"a b c"}},
	}
	for _, tt := range tests {
		if d := cmp.Diff(tt.want, term.Wrap(tt.s, tt.n)); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}

func TestPadAndTabs(t *testing.T) {
	if got := term.Pad("日", 4); got != "日  " {
		t.Errorf("Pad: %q", got)
	}
	if got := term.Pad("abcde", 4); got != "abcde" {
		t.Errorf("Pad: %q", got)
	}
	if got := term.ExpandTabs("\ta\tbcd\te日\tf", 4); got != "    a   bcd e日 f" {
		t.Errorf("ExpandTabs: %q", got)
	}
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "runes")
		n := rapid.IntRange(0, 40).Draw(t, "columns")
		escaped := term.Escape(s)
		if !utf8.ValidString(escaped) || strings.ContainsFunc(escaped, func(r rune) bool { return r < ' ' || r == 0x7f || term.Hidden(r) }) {
			t.Fatalf("%q still holds control characters", escaped)
		}
		if again := term.Escape(escaped); again != escaped {
			t.Fatalf("escaping twice changes %q to %q", escaped, again)
		}
		for _, cut := range []string{term.Cut(escaped, n), term.CutLeft(escaped, n)} {
			if term.Width(cut) > n {
				t.Fatalf("%q has %d columns of %d", cut, term.Width(cut), n)
			}
		}
		words := strings.Fields(escaped)
		var wrapped []string
		for _, line := range term.Wrap(strings.Join(words, " "), n) {
			wrapped = append(wrapped, strings.Fields(line)...)
		}
		if !slices.Equal(words, wrapped) {
			t.Fatalf("wrapping changes the words: %q, %q", words, wrapped)
		}
	})
}

// TestHang: long lines of aligned columns hang below their last column, words stay whole, and no word is lost.
func TestHang(t *testing.T) {
	const text = "order  drawn: base, head in repeats 1234 % 3; head, base in the others, and so on to the end\n" +
		"  a-label-that-is-wide-enough-to-leave-no-room  one two three four\n" +
		"short  line\nA title without columns that is longer than a line of forty\n"
	const want = "order  drawn: base, head in repeats\n       1234 % 3; head, base in the\n       others, and so on to the end\n" +
		"  a-label-that-is-wide-enough-to-leave-no-room\n      one two three four\n" +
		"short  line\nA title without columns that is longer\nthan a line of forty\n"
	if got := term.Hang(text, 40); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := term.Hang(text, 0); got != text {
		t.Errorf("without a width: %q", got)
	}
}

// TestPercentStaysWithItsNumber: no line begins with the sign of a number that ends the line before.
func TestPercentStaysWithItsNumber(t *testing.T) {
	const text = "interval +6.7 … +8.6 %, margin 5 %"
	for name, wrap := range map[string]func(string, int) []string{"fold": term.Fold, "wrap": term.Wrap} {
		for columns := 8; columns < 40; columns++ {
			for _, line := range wrap(text, columns) {
				if strings.HasPrefix(line, "%") {
					t.Errorf("%s to %d columns: %q", name, columns, line)
				}
			}
		}
	}
}
