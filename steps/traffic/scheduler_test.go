package traffic_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/traffic"
)

// clock is a driver whose requests take a time each. What happens at one time happens in the order in which it was
// planned.
type clock struct {
	now       time.Duration
	pending   []moment
	took      func(i int) time.Duration
	scheduler *traffic.Scheduler
	log       []string
	over      int
}

type moment struct {
	at time.Duration
	do func()
}

func (c *clock) Now() time.Duration { return c.now }

func (c *clock) At(t time.Duration, do func()) {
	after := slices.IndexFunc(c.pending, func(m moment) bool { return m.at > t })
	if after < 0 {
		after = len(c.pending)
	}
	c.pending = slices.Insert(c.pending, after, moment{t, do})
}

func (c *clock) Send(r traffic.Request) {
	c.log = append(c.log, fmt.Sprintf("%d@%d(%d,%d)", r.Index, c.now, r.Planned, r.Due))
	c.At(c.now+c.took(r.Index), func() {
		if c.scheduler.Ended(r.Index, c.now) {
			c.over++
		}
	})
}

// chain is sessions of three requests each: the first, one that waits 2 after it, and one that waits for both.
type chain struct{ number, requests int }

func (chain) Session(i int) int { return i / 3 }

func (chain) After(i int) ([]int, time.Duration) {
	first := i / 3 * 3
	return [][]int{nil, {first}, {first, first + 1}}[i%3], time.Duration(2 * (i % 3 % 2))
}

func (c chain) Begin(number int) (requests []int, at []time.Duration) {
	for i := 3 * number; number < c.number && i < min(3*number+3, c.requests); i++ {
		requests, at = append(requests, i), append(at, 0)
	}
	return requests, at
}

// TestScheduler: requests are sent at their times, within the bound, after what they wait for, and by users. A request
// reads index@sent(planned,due).
func TestScheduler(t *testing.T) {
	sessions := chain{number: 2, requests: 6}
	for _, tt := range []struct {
		name string
		plan traffic.Plan
		want string
		over int // sessions
	}{
		{"open", traffic.Plan{Times: []time.Duration{0, 3, 3}}, "[0@0(0,0) 1@3(3,3) 2@3(3,3)]", 0},
		{"bounded", traffic.Plan{Times: []time.Duration{0, 1, 2, 30}, Limit: 1}, "[0@0(0,0) 1@10(1,10) 2@20(2,20) 3@30(30,30)]", 0},
		{"closed", traffic.Plan{Limit: 2, Requests: 5}, "[0@0(-1,0) 1@0(-1,0) 2@10(-1,10) 3@10(-1,10) 4@20(-1,20)]", 0},
		{"thoughtful", traffic.Plan{Limit: 1, Requests: 3, Think: 4}, "[0@0(-1,0) 1@14(-1,14) 2@28(-1,28)]", 0},
		{"for a time", traffic.Plan{Limit: 1, Duration: 15}, "[0@0(-1,0) 1@10(-1,10)]", 0},
		{"recorded sessions", traffic.Plan{Times: []time.Duration{0, 1, 2, 5, 6, 7}, Sessions: sessions},
			"[0@0(0,0) 3@5(5,5) 1@12(-1,12) 4@17(-1,17) 2@22(-1,22) 5@27(-1,27)]", 2},
		{"bounded sessions", traffic.Plan{Times: []time.Duration{0, 1, 2, 5, 6, 7}, Sessions: sessions, Limit: 1},
			"[0@0(0,0) 3@10(5,10) 1@20(-1,20) 4@30(-1,30) 2@40(-1,40) 5@50(-1,50)]", 2},
		{"sessions with times", traffic.Plan{Times: []time.Duration{0, 1, 40, 41, 42, 90}, Sessions: sessions, Timed: true},
			"[0@0(0,0) 1@12(1,12) 2@40(40,40) 3@41(41,41) 4@53(42,53) 5@90(90,90)]", 2},
		{"a time within a wait", traffic.Plan{Times: []time.Duration{0, 11, 12}, Sessions: sessions, Timed: true},
			"[0@0(0,0) 1@12(11,12) 2@22(12,22)]", 1},
		{"a place is taken by what is sent, not by what waits", traffic.Plan{Times: []time.Duration{0, 1, 2, 3}, Sessions: sessions, Timed: true,
			Limit: 1}, "[0@0(0,0) 3@10(3,10) 1@20(1,20) 2@30(2,30)]", 2},
		{"users of sessions", traffic.Plan{Limit: 1, Sessions: sessions, Think: 7},
			"[0@0(-1,0) 1@12(-1,12) 2@22(-1,22) 3@39(-1,39) 4@51(-1,51) 5@61(-1,61)]", 2},
		{"cut sessions", traffic.Plan{Limit: 2, Sessions: chain{number: 2, requests: 5}},
			"[0@0(-1,0) 3@0(-1,0) 1@12(-1,12) 4@12(-1,12) 2@22(-1,22)]", 2},
		{"sessions for a time", traffic.Plan{Limit: 1, Duration: 15, Sessions: sessions}, "[0@0(-1,0) 1@12(-1,12)]", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &clock{took: func(int) time.Duration { return 10 }}
			c.scheduler = traffic.New(tt.plan, c)
			c.scheduler.Start()
			for _, i := range tt.plan.Planned() {
				c.At(tt.plan.Times[i], func() { c.scheduler.Due(i) })
			}
			for len(c.pending) > 0 {
				next := c.pending[0]
				c.pending = c.pending[1:]
				c.now = next.at
				next.do()
			}
			if got := fmt.Sprint(c.log); got != tt.want {
				t.Errorf("sent %s, want %s", got, tt.want)
			}
			if c.over != tt.over || !c.scheduler.Over() {
				t.Errorf("%d sessions ended, want %d; over: %t", c.over, tt.over, c.scheduler.Over())
			}
		})
	}
}

// TestReady: before its planned time a request is ready when all that it waits for has ended, and the wait after that
// ends in time.
func TestReady(t *testing.T) {
	c := &clock{took: func(int) time.Duration { return 10 }}
	p := traffic.Plan{Times: []time.Duration{0, 11, 40}, Sessions: chain{number: 1, requests: 3}, Timed: true}
	c.scheduler = traffic.New(p, c)
	ready := func() []bool { return []bool{c.scheduler.Ready(0), c.scheduler.Ready(1), c.scheduler.Ready(2)} }
	if got := ready(); !slices.Equal(got, []bool{true, false, false}) {
		t.Errorf("at the start: %v", got)
	}
	c.scheduler.Due(0)
	c.scheduler.Ended(0, 10)
	if got := ready(); got[1] || got[2] {
		t.Errorf("request 1 waits until 12 and is planned for 11: %v", got)
	}
	c.scheduler.Due(1)
	c.scheduler.Ended(1, 22)
	if got := ready(); !got[2] {
		t.Errorf("all before request 2 has ended: %v", got)
	}
}
