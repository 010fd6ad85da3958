package stamp_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps/stamp"
)

func TestStampsAreReadBack(t *testing.T) {
	first := stamp.Now()
	got, ok := stamp.Parse(stamp.Format(first))
	if !ok || got != first || stamp.Now() < first {
		t.Errorf("%v, %v; want %v", got, ok, first)
	}
}

func TestOnlyStampsOfThisMachineCount(t *testing.T) {
	_, here, _ := strings.Cut(stamp.Format(1), "@")
	for _, text := range []string{
		"", "@", "5", "5@", "x@" + here, "-5@" + here, "0@" + here, "99999999999999999999@" + here, "5@" + here + "x", " 5@" + here,
	} {
		if at, ok := stamp.Parse(text); ok {
			t.Errorf("%q is read as %v", text, at)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(stamp.Format(12))
	f.Add("5@elsewhere")
	f.Fuzz(func(t *testing.T, text string) {
		at, ok := stamp.Parse(text)
		if !ok {
			return
		}
		if again, ok := stamp.Parse(stamp.Format(at)); !ok || again != at {
			t.Errorf("%q: %v is read back as %v", text, at, again)
		}
	})
}
