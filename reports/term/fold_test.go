package term_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/servegate/pipeline/reports/term"
)

func TestFold(t *testing.T) {
	tests := []struct {
		in    string
		limit int
		want  string
	}{
		{"", 5, ""},
		{"one two three", 7, "one two|three"},
		{"abcdefghij k", 4, "abcd|efgh|ij k"},
		{"名前名前", 5, "名前|名前"},
		{"名", 1, "名"},
	}
	for _, tt := range tests {
		if got := strings.Join(term.Fold(tt.in, tt.limit), "|"); got != tt.want {
			t.Errorf("Fold(%q, %d) = %q, want %q", tt.in, tt.limit, got, tt.want)
		}
	}
}

func TestFoldKeepsTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.SampledFrom([]rune("ab 名e\u0301"))).Draw(t, "s")
		limit := rapid.IntRange(2, 12).Draw(t, "limit")
		lines := term.Fold(s, limit)
		for _, l := range lines {
			if term.Width(l) > limit {
				t.Fatalf("Fold(%q, %d): %q is too wide", s, limit, l)
			}
		}
		if got, want := strings.ReplaceAll(strings.Join(lines, ""), " ", ""), strings.Join(strings.Fields(s), ""); got != want {
			t.Fatalf("Fold(%q, %d) = %q", s, limit, lines)
		}
	})
}
