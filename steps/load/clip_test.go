package load

import (
	"strings"
	"testing"
)

// What is cut ends between words, so that no part of a secret is left of it.
func TestClip(t *testing.T) {
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{
		{"short", 10, "short"},
		{" two words ", 20, "two words"},
		{"two words", 9, "two words"},
		{"unknown token ghs_0123456789abcdef", 25, "unknown token"},
		{"ghs_0123456789abcdef", 10, "…"},
		{"a\xffb", 10, "a�b"},
	} {
		if got := clip(tt.s, tt.n); got != tt.want || strings.Contains(got, "ghs") {
			t.Errorf("clip(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
}
