package engine

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Lanes wait for each other where they meet, go on at the time of the last of them, and do not wait for
// those that have left.
func TestLanesGoInStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &march{all: 3, lanes: 3, next: newTurn()}
		begun := time.Now()
		var mu sync.Mutex
		beside := map[int][]int{}
		var all sync.WaitGroup
		for lane := range 3 {
			at := time.Duration(lane) * time.Minute // of its own clock
			s := &step{m, &LaneClock{Now: func() time.Time { return begun.Add(at) }, AdvanceTo: func(t time.Time) { at = t.Sub(begun) }}}
			all.Go(func() {
				defer s.leave()
				for range 3 - lane {
					n, err := s.meet(context.Background())
					mu.Lock()
					beside[lane] = append(beside[lane], n)
					mu.Unlock()
					if err != nil || at != 2*time.Minute {
						t.Errorf("lane %d goes on at %s: %v", lane, at, err)
					}
				}
			})
		}
		all.Wait()
		if want := (map[int][]int{0: {2, 1, 0}, 1: {2, 1}, 2: {2}}); !reflect.DeepEqual(beside, want) {
			t.Errorf("beside %v, want %v", beside, want)
		}
		alone := (*step)(nil)
		if n, err := alone.meet(context.Background()); n != 0 || err != nil || alone.others() != 0 {
			t.Errorf("a lane that goes alone is beside %d: %v", n, err)
		}
	})
}

// Every lane has its turn alone, and both halves of its pairs come first equally often.
func TestTurnsOfLanes(t *testing.T) {
	for _, tt := range []struct {
		targets []string
		passes  int
	}{
		{[]string{base, head}, 4},
		{[]string{base, head, base}, 4},
		{[]string{base, head, base, head}, 4},
		{[]string{base, base, base}, 6},
	} {
		first, last := make([]int, len(tt.targets)), make([]int, len(tt.targets))
		for pass := 1; pass <= tt.passes; pass++ {
			turns := laneTurns(tt.targets, pass)
			together := slices.IndexFunc(turns, func(turn []int) bool { return len(turn) == len(tt.targets) })
			for i, turn := range turns {
				switch {
				case i < together:
					first[turn[0]]++
				case i > together:
					last[turn[0]]++
				}
			}
		}
		if !slices.Equal(first, last) || slices.Contains(first, 0) {
			t.Errorf("%v: alone before the others in %v passes, after them in %v", tt.targets, first, last)
		}
	}
}
