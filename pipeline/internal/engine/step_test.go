package engine

import (
	"context"
	"reflect"
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

// Every lane has its turn alone, and both halves of a pass come first equally often.
func TestTurnsOfLanes(t *testing.T) {
	for _, lanes := range []int{2, 3, 4} {
		alone, first := map[int]int{}, 0
		for pass := 1; pass <= 2*lanes; pass++ {
			for i, turn := range laneTurns(lanes, pass) {
				if len(turn) == 1 {
					alone[turn[0]]++
				}
				if i == 0 && len(turn) == lanes {
					first++
				}
			}
		}
		if first != lanes || len(alone) != lanes {
			t.Errorf("%d lanes: all are first in %d of %d passes, alone are %v", lanes, first, 2*lanes, alone)
		}
	}
}
