package simulate_test

import (
	"slices"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/model/modeltest"
	"github.com/servegate/pipeline/steps/simulate/transfer"
)

func pairConfig(t *testing.T, version string, flags ...string) model.Config {
	t.Helper()
	s, err := simulate.NewServer(append([]string{"vllm", "serve", "Qwen/Qwen2.5-7B-Instruct", "--max-model-len", "8192"}, flags...),
		simulate.Options{Settings: simulate.Settings{Version: version}})
	if err != nil {
		t.Fatal(err)
	}
	return s.Config()
}

// TestPairOverLinks: the faster the link the earlier the first token, with either
// generation of connectors, and decode is steadier than on one server.
func TestPairOverLinks(t *testing.T) {
	profile, err := model.ProfileByName("fast")
	if err != nil {
		t.Fatal(err)
	}
	net := profile.Net
	links := []model.Link{net.NVLink, transfer.LinkOver(net, kv.RDMA, 2), transfer.LinkOver(net, kv.RDMA, 1), net.TCP}
	for _, blocking := range []bool{false, true} {
		arrivals := uniformArrivals(200, 1024, 32, 55*time.Millisecond)
		c := pairConfig(t, "0.6.4")
		decode := c
		decode.BlockingTransfer = blocking
		var last time.Duration
		for i, l := range links {
			timelines, err := modeltest.Pair{Prefill: c, Decode: decode, Link: l}.Replay(arrivals, 7)
			if err != nil {
				t.Fatal(err)
			}
			var first []time.Duration
			for _, tl := range timelines {
				if len(tl.Tokens) != 32 {
					t.Fatalf("%d tokens of 32", len(tl.Tokens))
				}
				first = append(first, tl.Tokens[0]-tl.Arrival)
			}
			slices.Sort(first)
			if median := first[100]; median <= last {
				t.Errorf("blocking %v: link %d has a median TTFT of %v, the faster one before it %v", blocking, i, median, last)
			} else {
				last = median
			}
			if blocking || i > 0 {
				continue
			}
			alone, err := modeltest.Model{Config: c}.Replay(arrivals, 7)
			if err != nil {
				t.Fatal(err)
			}
			if pair, one := summarize(timelines), summarize(alone); pair.tpotMean > 0.8*one.tpotMean {
				t.Errorf("mean TPOT is %.2f ms on the pair, %.2f on one server whose prefills stop decodes", pair.tpotMean, one.tpotMean)
			}
		}
	}
}

func TestPairRefusals(t *testing.T) {
	c := pairConfig(t, "0.33.0")
	bad := c
	bad.BlockSize = 0
	if _, err := (modeltest.Pair{Prefill: bad, Decode: c}).Replay(nil, 1); err == nil {
		t.Error("a prefill server without blocks is accepted")
	}
	if _, err := (modeltest.Pair{Prefill: c, Decode: bad}).Replay(nil, 1); err == nil {
		t.Error("a decode server without blocks is accepted")
	}
	pair := modeltest.Pair{Prefill: c, Decode: c, Link: model.Link{Bandwidth: 1}}
	if _, err := pair.Replay(uniformArrivals(1, 8192, 1, 0), 1); err == nil {
		t.Error("a prompt that leaves no room for a token is accepted")
	}
}
