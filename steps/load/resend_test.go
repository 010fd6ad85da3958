package load

import (
	"net"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/record"
)

// TestBusyConnectionThatCloses: a request on a connection that was busy a moment ago, which closes
// without an answer, has failed. Nothing sends it again.
func TestBusyConnectionThatCloses(t *testing.T) {
	n := 0
	s := serve(t, func(w net.Conn, _ string, _ map[string]any) bool {
		if n++; n == 3 {
			return false
		}
		return oneToken(w)
	})
	w := steps.Workload{
		Dataset: steps.Dataset{Kind: "sonnet", InputMin: 32, InputMax: 32, OutputMin: 1, OutputMax: 1, PrefixLen: 8},
		Load:    steps.Load{Arrival: Closed, Requests: 6, MaxConcurrency: 1},
	}
	res, err := Run(t.Context(), Options{BaseURL: s.URL, Model: "m", Workload: w, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	failed, classes := record.Failures(res.Run)
	if failed != 1 || classes["connect"] != 1 || res.Run.Audit.Redials != 0 || n != 6 {
		t.Errorf("%d failed (%v), %d redials, %d requests came", failed, classes, res.Run.Audit.Redials, n)
	}
}

// TestRestedConnection: a connection that was idle may close just when it is used. The request is sent
// again then, and that it was is reported.
func TestRestedConnection(t *testing.T) {
	for _, tt := range []struct {
		idle   time.Duration
		resent bool
	}{{0, false}, {minRest / 2, false}, {2 * minRest, true}} {
		n := 0
		s := serveRaw(t, func(w net.Conn, _ string, _ map[string]any) bool {
			if n++; n == 1 {
				return false
			}
			return oneToken(w)
		})
		target, err := parseTarget(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		c := &client{pool: &pool{target: target}, clock: newClock(time.Now())}
		cn, err := c.pool.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		cn.idle = time.Now().Add(-tt.idle)
		enc := encoder{target: target}
		_, resent, err := c.exchange(t.Context(), cn, cn.rested(), enc.post("/v1/completions", []byte("{}")), time.Now().Add(time.Minute), &page{})
		if resent != tt.resent || (err == nil) != tt.resent {
			t.Errorf("idle for %v: sent again %v, error %v", tt.idle, resent, err)
		}
		c.pool.close()
	}
}

// oneToken answers with one token.
func oneToken(w net.Conn) bool {
	streamHead(w)
	piece(w, "data: "+completion("a", 1, "length")+"\n\n")
	piece(w, "data: [DONE]\n\n")
	return streamEnd(w)
}
