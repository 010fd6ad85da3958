package target

import (
	"slices"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
)

// TestAddressOfServiceDouble: the double of a service is told where to listen, because by itself it listens on
// the loopback address alone.
func TestAddressOfServiceDouble(t *testing.T) {
	master := kv.Service{Name: "m", Kind: "mooncake_master", Listen: "rpc_address", Args: []string{"--port", "50051"}}
	for want, slot := range map[string]place.Slot{
		"127.0.0.1": {},
		"10.0.0.2":  {Host: "10.0.0.2"},
		"0.0.0.0":   {Host: "10.0.0.2", Spec: steps.ServerSpec{Listen: place.AnyAddress}},
	} {
		d := &deployment{Resolver: Resolver{Plan: &plan.Plan{Simulated: plan.SimulateProcess}}, slots: map[string]place.Slot{"m": slot}}
		slot.Self.Program = "pipeline"
		p, err := d.renderService(master, "r1")
		if err != nil {
			t.Fatal(err)
		}
		if words := []string{"mooncake_master", "--rpc_address", want, "--port", "50051"}; !slices.Equal(p.Argv[3:], words) {
			t.Errorf("%v, want %v", p.Argv, words)
		}
	}
}
