package engine

import "testing"

// TestSameRelease: a server is warned of that is another release than the file declares, and
// not where either says nothing.
func TestSameRelease(t *testing.T) {
	for _, tt := range []struct {
		declared, own string
		want          bool
	}{
		{"0.11.0", "0.11.0", true}, {"v0.11.0", "0.11.0+cpu", true}, {"0.11", "0.11.0", true}, {"0.11.0", "0.11.0rc1", true},
		{"", "0.11.0", true}, {"0.11.0", "", true}, {"0.11.0", "dev", true}, {"nightly", "0.11.0", true},
		{"0.11.0", "0.11.1", false}, {"0.11.0", "0.12.0+cpu", false},
	} {
		if got := sameRelease(tt.declared, tt.own); got != tt.want {
			t.Errorf("%q and %q: %v", tt.declared, tt.own, got)
		}
	}
}
