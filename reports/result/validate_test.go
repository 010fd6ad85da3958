package result

import (
	"errors"
	"reflect"
	"testing"
)

// TestBoundsOfCounts: a whole number has bounds as any other.
func TestBoundsOfCounts(t *testing.T) {
	type part struct {
		Count int `json:"count" bounds:"1,8"`
	}
	for count, want := range map[int]string{8: "", 9: "part.count: 9 is not in 1 … 8"} {
		var v validator
		v.values(reflect.ValueOf(part{count}), &step{name: "part"})
		got := ""
		if err := errors.Join(v.problems...); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%d: got %q, want %q", count, got, want)
		}
	}
}
