package enum_test

import (
	"testing"

	"github.com/servegate/pipeline/steps/enum"
)

func TestValues(t *testing.T) {
	modes := enum.Values{{"update", "one comment"}, {"hide-and-new", ""}, {"never", ""}}
	for name, want := range map[string]string{
		"never":  "",
		"udpate": "must be one of update, hide-and-new, never; did you mean update?",
		"":       `must be one of update, hide-and-new, never, not ""`,
		"yes":    `must be one of update, hide-and-new, never, not "yes"`,
	} {
		got := ""
		if err := modes.Check(name); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
	if got, want := modes.Doc(), "update (one comment), hide-and-new or never"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestNearest(t *testing.T) {
	for given, want := range map[string]string{"rate": "rate", "rat": "rate", "at": "", "xate": "rate", "ratex2": "rate",
		"RATE": "rate", "nothing": ""} {
		if got := enum.Nearest(given, []string{"rate", "ramp"}); got != want {
			t.Errorf("%s: %q, want %q", given, got, want)
		}
	}
}

// TestOpenValues: a name that ends with * stands for all that begin like it, and not for its beginning alone.
func TestOpenValues(t *testing.T) {
	fields := enum.Of("model", "parameter.*")
	for name, want := range map[string]bool{"model": true, "parameter.batch": true, "parameter.": false, "batch": false} {
		if got := fields.Has(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}
