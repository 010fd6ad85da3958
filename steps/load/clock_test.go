package load

import (
	"errors"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/steps/record"
	"pgregory.net/rapid"
)

func TestLagBucketsHoldTheirLags(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Range(0, math.MaxInt64>>1).Draw(t, "ns")
		b := lagBucket(ns)
		if top := lagCeiling(b); ns > top || top > ns+ns/8+1 {
			t.Errorf("%d is in bucket %d, which ends at %d", ns, b, top)
		}
		if b > 0 && lagCeiling(b-1) >= ns {
			t.Errorf("%d is in bucket %d, and the one before ends at %d", ns, b, lagCeiling(b-1))
		}
	})
}

// TestClockSteps: a wall clock that is set during a run shows, also when it is set back.
func TestClockSteps(t *testing.T) {
	k := newClock(time.Now())
	k.first -= int64(30 * time.Millisecond) // as if it had been set forward since
	k.sample()
	k.first += int64(30 * time.Millisecond)
	k.sample()
	var a record.Audit
	k.fill(&a)
	if step := time.Duration(a.ClockStep); step < 29*time.Millisecond || step > 31*time.Millisecond {
		t.Errorf("clock step %v, want 30ms", step)
	}
	if cause, _ := (Limits{}).Void(a); cause != CauseClock {
		t.Error("the run is not void")
	}
}

// TestStalls: a client that was stopped during a run shows by its late samples. Those of a busy machine do not count.
func TestStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newClock(time.Now().Add(-time.Minute)) // preparing the run took a minute
		for _, d := range []time.Duration{
			clockEvery, clockEvery + 100*time.Millisecond, time.Second, clockEvery, 1400 * time.Millisecond, clockEvery + 250*time.Millisecond,
		} {
			time.Sleep(d)
			k.sample()
		}
		var a record.Audit
		k.fill(&a)
		if want := 2250 * time.Millisecond; time.Duration(a.Stalled) != want {
			t.Errorf("stalled %v, want %v", time.Duration(a.Stalled), want)
		}
	})
}

func TestCoalescedBounds(t *testing.T) {
	rec := record.Request{WantTokens: 4}
	s := newStream(endpointCompletions, true, 1, &rec)
	event := `data: {"choices":[{"text":"a"}]}` + "\n\n"
	rec.Status = 200
	feed := func(after, at int64, text string) {
		s.onRead(after, at, at)
		if err := s.body([]byte(text), at); err != nil {
			t.Fatal(err)
		}
	}
	feed(0, 100, event)
	feed(110, 160, event+event+event)
	feed(170, 180, event)
	if s.coalesced.events != 2 || s.coalesced.sum != 100 || s.coalesced.max != 50 {
		t.Errorf("coalesced %+v, want 2 events of at most 50 each", s.coalesced)
	}
}

// TestFlood: a server that sends without end does not take the memory.
func TestFlood(t *testing.T) {
	rec := record.Request{WantTokens: 1, Status: 200}
	s := newStream(endpointCompletions, true, 1, &rec)
	var err error
	for range minEvents + 2 {
		if err = s.body([]byte("data: {\"choices\":[{\"text\":\"a\"}]}\n\n"), 1); err != nil {
			break
		}
	}
	if !errors.Is(err, errFlood) || len(rec.Events) != minEvents {
		t.Errorf("error %v after %d events", err, len(rec.Events))
	}
}

// TestClockIsTheKernels on Linux, and the read's elsewhere and within TLS.
func TestClockIsTheKernels(t *testing.T) {
	s := serve(t, healthy)
	res := mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: workload(40), Seed: 1})
	a := res.Run.Audit
	want := "user"
	if runtime.GOOS == "linux" {
		want = "kernel"
	}
	if a.Clock != want || a.Reads == 0 || a.UserReads > a.Reads || a.ReadLagP50 > a.ReadLagP99 || a.ReadLagP99 > a.ReadLagMax {
		t.Errorf("audit %+v", a)
	}
	for _, r := range res.Run.Requests.All() {
		if r.Headers < r.Sent || r.Events[0].At < r.Headers {
			t.Errorf("times out of order: %+v", r)
		}
	}
}
