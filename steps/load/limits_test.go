package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/load/internal/stamp"
	"github.com/servegate/pipeline/steps/record"
)

func TestVoid(t *testing.T) {
	ms := int64(time.Millisecond)
	tests := []struct {
		name  string
		limit Limits
		audit record.Audit
		want  string // part of the reason, "" for a run that stands
	}{
		{"quiet", Limits{}, record.Audit{PlannedRate: 100, RealisedRate: 99.9, LagP99: 9 * ms}, ""},
		{"late", Limits{}, record.Audit{PlannedRate: 100, RealisedRate: 99.9, LagP99: 11 * ms}, "late"},
		{"a slow schedule forgives more", Limits{}, record.Audit{PlannedRate: 2, RealisedRate: 2, LagP99: 49 * ms}, ""},
		{"but not all", Limits{}, record.Audit{PlannedRate: 2, RealisedRate: 2, LagP99: 51 * ms}, "late"},
		{"gaps shrink with the time scale", Limits{}, record.Audit{PlannedRate: 2, RealisedRate: 2, LagP99: 49 * ms, TimeScale: 10}, "late"},
		{"rate", Limits{}, record.Audit{PlannedRate: 100, RealisedRate: 97}, "97 of 100"},
		{"clock", Limits{}, record.Audit{PlannedRate: 100, RealisedRate: 100, ClockStep: -11 * ms}, "clock"},
		{"no descriptors", Limits{}, record.Audit{Exhausted: 3}, "connections of 3 requests"},
		{"a closed loop that was stopped", Limits{}, record.Audit{Stalled: 1200 * ms, WallSeconds: 5}, "stood still for 1.2s of 5 s"},
		{"a short stop in a long run", Limits{}, record.Audit{Stalled: 300 * ms, WallSeconds: 60}, ""},
		{"a closed loop that was throttled", Limits{}, record.Audit{Throttled: 120 * ms, WallSeconds: 5}, "throttled for 120ms of 5 s"},
		{"a client that was hardly throttled", Limits{}, record.Audit{Throttled: 90 * ms, WallSeconds: 5}, ""},
		{"burst", Limits{}, record.Audit{LagP99: 200 * ms}, ""},
		{"stalled burst", Limits{}, record.Audit{LagP99: 300 * ms}, "late"},
		{"closed loop", Limits{}, record.Audit{}, ""},
		{"coalesced, and no limit", Limits{}, record.Audit{Events: 10, CoalescedReads: 9}, ""},
		{"coalesced", Limits{CoalescedShare: 0.5}, record.Audit{Events: 10, CoalescedReads: 6, CoalescedMax: 5 * ms}, "6 of 10 events"},
		{"busy, and no limit", Limits{}, record.Audit{CPUSeconds: 1e6, WallSeconds: 1}, ""},
		{"busy", Limits{CPUShare: 0.9}, record.Audit{CPUSeconds: 1e6, WallSeconds: 1}, "of its processors"},
		{"pause", Limits{GCPause: time.Millisecond}, record.Audit{GCPauseMax: 2 * ms}, "garbage collector"},
		{"own limit", Limits{LagP99: time.Millisecond, LagShare: 0.01}, record.Audit{PlannedRate: 100, RealisedRate: 100, LagP99: 2 * ms},
			"late"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cause, got := tt.limit.Void(tt.audit)
			if (got == "") != (tt.want == "") || (cause == "") != (tt.want == "") || (cause == CauseClock) != (tt.name == "clock") ||
				!strings.Contains(got, tt.want) {
				t.Errorf("%s: reason %q, want one with %q", cause, got, tt.want)
			}
		})
	}
}

func TestDurationsAreReadable(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 999: "999ns", 45287522: "45.3ms", -45287522: "-45.3ms", 1234567890: "1.23s", 75 * time.Second: "1m15s",
		20 * time.Millisecond: "20ms",
	} {
		if got := readable(d).String(); got != want {
			t.Errorf("%d ns is %s, want %s", d, got, want)
		}
	}
}

// TestExhausted: a connection fails for lack of descriptors or ports of this machine, and not by the server. Names are looked
// up by a connection, too.
func TestExhausted(t *testing.T) {
	socket := func(of syscall.Errno) error { return &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", of)} }
	lookup := func(text string) error {
		return &net.OpError{Op: "dial", Err: &net.DNSError{Err: text, Name: "too many open files"}}
	}
	for of, want := range map[error]bool{
		socket(syscall.EMFILE): true, socket(syscall.ENFILE): true, socket(syscall.EADDRNOTAVAIL): true,
		socket(syscall.ENOBUFS): true, socket(syscall.ENOMEM): true,
		socket(syscall.ECONNREFUSED): false, socket(syscall.ECONNRESET): false,
		lookup("dial udp 192.0.2.53:53: socket: too many open files"): true, lookup("no such host"): false,
		errors.New("status 500: socket: too many open files"): false,
	} {
		err := fmt.Errorf("connect: %w", of)
		for when, fail := range map[string]func(*runner, *attempt){
			"before a request": func(r *runner, a *attempt) { r.fail(t.Context(), a, err) },
			"when it is sent again": func(r *runner, a *attempt) {
				r.perform(t.Context(), a, dataset.Prompt{}, failing(err), true, nil, r.t0)
			},
		} {
			r, a := &runner{t0: time.Now(), scale: 1, client: &client{pool: &pool{}, clock: newClock(time.Now())}}, &attempt{}
			fail(r, a)
			r.sends.add(a)
			var audit record.Audit
			r.sends.fill(&audit, false, 1)
			if cause, _ := (Limits{}).Void(audit); (cause == CauseClient) != want || a.rec.Failure != record.FailConnect {
				t.Errorf("%v %s: void for %q, %s", of, when, cause, a.rec.Failure)
			}
		}
	}
}

// failing returns a connection that fails, as the one that replaces a connection that has ended does.
func failing(err error) *conn { return &conn{line: failingLine{err: err}} }

type failingLine struct {
	endingLine
	err error
}

func (l failingLine) Exchange(context.Context, time.Time, []byte, stamp.Sink) (sent, err error) {
	return nil, l.err
}
