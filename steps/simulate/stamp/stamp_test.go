package stamp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/simulate/stamp"
)

func TestStampsAreReadBack(t *testing.T) {
	want := time.Unix(1_700_000_000, 123_456_789)
	got, ok := stamp.Parse(stamp.Format(want))
	if !ok || !got.Equal(want) {
		t.Errorf("%v, %v; want %v", got, ok, want)
	}
}

func TestOnlyStampsOfThisMachineCount(t *testing.T) {
	_, here, _ := strings.Cut(stamp.Format(time.Now()), "@")
	for _, text := range []string{
		"", "@", "5", "5@", "x@" + here, "-5@" + here, "0@" + here, "99999999999999999999@" + here, "5@" + here + "x", " 5@" + here,
	} {
		if at, ok := stamp.Parse(text); ok {
			t.Errorf("%q is read as %v", text, at)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(stamp.Format(time.Unix(1, 2)))
	f.Add("5@elsewhere")
	f.Fuzz(func(t *testing.T, text string) {
		at, ok := stamp.Parse(text)
		if !ok {
			return
		}
		again, ok := stamp.Parse(stamp.Format(at))
		if !ok || !again.Equal(at) {
			t.Errorf("%q: %v is read back as %v", text, at, again)
		}
	})
}
