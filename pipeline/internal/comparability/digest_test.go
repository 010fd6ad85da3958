package comparability

import (
	"testing"

	"github.com/servegate/pipeline/steps/record"
)

// TestRequestsInADigest: what a digest holds of a request comes back, and a broken one holds less.
func TestRequestsInADigest(t *testing.T) {
	var requests record.List
	for i := range 5 {
		r := record.Request{Index: i, PromptTokens: 256, WantTokens: 32, OutputTokens: 32, Finish: "length", Asked: uint32(1000 + i),
			Events: make([]record.Event, 32), Text: &record.Text{Chars: 100, Sum: uint32(2000 + i)}}
		switch i {
		case 1:
			r.Failure = record.FailCut
		case 2:
			r.Continues, r.Finish = true, "stop"
		case 3:
			r.Index = 4 // 3 was never sent
		case 4:
			r.Index, r.Resent, r.Text = 5, true, nil
		}
		requests.Add(r)
	}
	got := CollectRequests(requests, record.List{})
	if got.Resent != 1 || got.PromptTokens != 4*256 || got.Finish["length"] != 3 || got.Finish["stop"] != 1 {
		t.Errorf("%+v", got)
	}
	back := readRequests(got.Digest)
	if len(back) != 6 || back[1].given || back[3].given || !back[2].continues || back[2].limited || back[5].known ||
		back[4].sum != 2003 || back[4].prompt != 256 {
		t.Errorf("%+v", back)
	}
	if n := len(readRequests(got.Digest[:len(got.Digest)-8])); n >= 6 {
		t.Errorf("%d requests of a digest that was cut", n)
	}
}
