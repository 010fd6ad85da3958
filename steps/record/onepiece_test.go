package record_test

import (
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/record"
)

// Requests whose tokens come in one piece have no time between them: a few are left out, and beside
// many nothing is known of the others, neither their goodput.
func TestTokensInOnePiece(t *testing.T) {
	request := func(i int, last int64) record.Request {
		return record.Request{
			Index: i, Sent: 0, Done: last, Events: []record.Event{{At: 10e6, Tokens: 1}, {At: last, Tokens: 11}},
			PromptTokens: 5, WantTokens: 11, OutputTokens: 11, Status: 200, Finish: "length",
		}
	}
	for name, tt := range map[string]struct {
		pieces int
		timed  bool
	}{"none": {0, true}, "one in ten": {2, true}, "more": {3, false}, "all": {20, false}} {
		run := record.Run{Duration: 1e9, Goodput: steps.Goodput{TPOT: 20e6}}
		for i := range 20 {
			last := int64(110e6) // 10 ms per token
			if i < tt.pieces {
				last = 10e6
			}
			run.Requests.Add(request(i, last))
		}
		got := record.Reduce(run)
		for _, id := range []string{"tpot.mean", "tpot.p50", "itl.p50", "itl_token.mean", "goodput.share"} {
			if _, timed := got[id]; timed != tt.timed {
				t.Errorf("%s: %s is there: %v", name, id, timed)
			}
		}
		if tt.timed && got["tpot.mean"] != 0.01 {
			t.Errorf("%s: the mean TPOT is %g", name, got["tpot.mean"])
		}
		if got["e2el.mean"] == 0 || record.OnePiece(run) != tt.pieces {
			t.Errorf("%s: E2EL %g, %d in one piece", name, got["e2el.mean"], record.OnePiece(run))
		}
		run.Goodput = steps.Goodput{E2EL: 1e9}
		if record.Reduce(run)["goodput.share"] != 1 {
			t.Errorf("%s: a goodput without a limit of TPOT is not there", name)
		}
	}
}
