package dockerhost

import (
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
)

// Machines of two hosts each: a server on node 1 is at the second host of the machine that its repeat has,
// and each machine needs the images of all servers.
func TestHostsAsMachines(t *testing.T) {
	var spec steps.DockerSpec
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		spec.Hosts = append(spec.Hosts, steps.DockerHost{URL: "ssh://" + name})
	}
	servers := []*config.Server{{Spec: steps.ServerSpec{Image: "first"}}, {Spec: steps.ServerSpec{Image: "second", Node: 1}}}
	cfg := &config.Config{Servers: servers, Settings: config.Settings{Docker: &spec, Machines: &config.Machines{}}}
	h, err := newHosts(place.Options{Plan: &plan.Plan{Config: cfg, Machines: &plan.Machines{Count: 2, Width: 2}}, Shown: true})
	if err != nil {
		t.Fatal(err)
	}
	for machine, want := range []string{"ssh://a,ssh://b", "ssh://c,ssh://d"} {
		lane := h.Lane(machine)
		if lane.Nodes != want {
			t.Errorf("machine %d is %s, want %s", machine, lane.Nodes, want)
		}
		part, ok := lane.Place.(*hosts)
		if !ok {
			t.Fatalf("a lane is a %T", lane.Place)
		}
		if got := part.at(place.Process{Role: place.RoleServer, Spec: servers[1].Spec}).shown; got != []string{"ssh://b", "ssh://d"}[machine] {
			t.Errorf("machine %d: node 1 is %s", machine, got)
		}
	}
	if h.Here(place.Process{}) {
		t.Error("hosts behind ssh are here")
	}
	for i, want := range wantedOf(cfg, 5) {
		image := []string{"first", "second", "first", "second", ""}[i]
		if _, ok := want.images[image]; image != "" && (!ok || len(want.images) != 1) || image == "" && len(want.images) > 0 {
			t.Errorf("host %d: images %v, want %q", i, want.images, image)
		}
	}
}
