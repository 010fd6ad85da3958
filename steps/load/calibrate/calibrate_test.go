package calibrate_test

import (
	"bytes"
	"context"
	"math"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/load/calibrate"
	"github.com/servegate/pipeline/steps/load/mock"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// TestRun: both sides saw the same requests and tokens, and the client measured no time
// that the server says was shorter than its schedule.
func TestRun(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sched := mock.Schedule{First: 5 * time.Millisecond, Gap: time.Millisecond}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = mock.New(sched).Serve(ctx, l) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	for _, c := range []calibrate.Case{calibrate.Burst(sched, 20, 8), calibrate.Steady(sched, 400, 40, 8)} {
		c.UserSpace = c.Load.Rate > 0
		r, err := calibrate.Run(t.Context(), "http://"+l.Addr().String(), c)
		if err != nil {
			t.Fatal(err)
		}
		n := c.Load.Requests
		if r.Failed != 0 || r.Truth.Requests != n || r.Measured.Requests != n || r.Truth.Tokens != 8*n || r.Measured.Tokens != 8*n {
			t.Errorf("%s: %+v", c.Name, r)
		}
		if r.Truth.TTFT.P50 < 0.005 || r.Measured.TTFT.P50 < 0.005 || math.IsNaN(r.Measured.ITL.P99) {
			t.Errorf("%s: earlier than the schedule: %+v, %+v", c.Name, r.Truth, r.Measured)
		}
		if c.UserSpace != (r.Seen != nil) || c.UserSpace && (r.Seen.Tokens != 8*n || r.Seen.TTFT.Mean < r.Measured.TTFT.Mean) {
			t.Errorf("%s: seen before it arrived: %+v, %+v", c.Name, r.Seen, r.Measured)
		}
		if (c.Load.Rate > 0) != (r.Arrivals != nil) || r.Arrivals != nil && r.Arrivals.Requests != n {
			t.Errorf("%s: arrivals %+v", c.Name, r.Arrivals)
		}
		var b bytes.Buffer
		if err := r.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"TTFT p99", "planned", "5.00", "clock ", "0 of ", "µs a token"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%q is not in:\n%s", want, b.String())
			}
		}
	}
	if _, err := calibrate.Run(t.Context(), "http://"+l.Addr().String()+"/nothing", calibrate.Burst(sched, 1, 1)); err == nil ||
		!strings.Contains(err.Error(), "404") {
		t.Errorf("no mock there: error %v", err)
	}
}
