package place_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/steps"
)

func names(parts []place.Part) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p.Name)
	}
	return out
}

func TestSpread(t *testing.T) {
	parts := place.Spread([]steps.Member{
		{Name: "prefill", Spec: steps.ServerSpec{GPUs: 1, Port: 8000}},
		{Name: "decode", Spec: steps.ServerSpec{GPUs: 8, Nodes: 2, Node: 1, Port: 8001}},
		{Name: "there", Spec: steps.ServerSpec{URL: "http://h", Nodes: 3}},
	})
	if diff := cmp.Diff([]string{"prefill", "decode", "decode.node1", "there"}, names(parts)); diff != "" {
		t.Fatal(diff)
	}
	for i, want := range []struct{ node, gpus, port, server, rank int }{{0, 1, 8000, 0, 0}, {1, 4, 8001, 1, 0},
		{2, 4, 0, 1, 1}, {0, 0, 0, 2, 0}} {
		p := parts[i]
		if p.Spec.Node != want.node || p.Spec.GPUs != want.gpus || p.Spec.Port != want.port || p.Server != want.server || p.Rank != want.rank {
			t.Errorf("%s: %+v, want %+v", p.Name, p, want)
		}
	}
	alone := place.Spread([]steps.Member{{Spec: steps.ServerSpec{Nodes: 2}}})
	if diff := cmp.Diff([]string{"node0", "node1"}, names(alone)); diff != "" {
		t.Error(diff)
	}
}
