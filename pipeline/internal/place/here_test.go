package place_test

import (
	"context"
	"errors"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/place/dockerhost"
	"github.com/servegate/pipeline/pipeline/internal/place/local"
	"github.com/servegate/pipeline/pipeline/internal/place/slurmjob"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
)

// TestServersElsewhere: this machine's network devices are no evidence of what servers of
// other machines have sent.
func TestServersElsewhere(t *testing.T) {
	here := func(s config.Settings, node int, image string) bool {
		set := place.NewSet([]place.Kind{slurmjob.Kind(), dockerhost.Kind(), local.Kind()},
			place.Options{Plan: &plan.Plan{Config: &config.Config{Settings: s}}, Shown: true})
		p := place.Process{Name: "s", Spec: steps.ServerSpec{Image: image, Node: node}, Contained: image != ""}
		return set.Here([]place.Target{{Processes: []place.Process{p}}})
	}
	if here(config.Settings{Slurm: &steps.SlurmSpec{Nodes: 1}}, 0, "") {
		t.Error("servers of a cluster are taken for this machine's")
	}
	if !here(config.Settings{}, 0, "") {
		t.Error("processes of this machine are taken for another's")
	}
	for _, tt := range []struct {
		host steps.DockerHost
		here bool
	}{
		{steps.DockerHost{URL: "unix:///var/run/docker.sock"}, true},
		{steps.DockerHost{URL: "unix:///var/run/docker.sock", Address: "10.0.0.1"}, true},
		{steps.DockerHost{URL: "tcp://localhost:2375"}, true},
		{steps.DockerHost{URL: "tcp://10.0.0.2:2376"}, false},
		{steps.DockerHost{URL: "ssh://me@gpu2"}, false},
		{steps.DockerHost{URL: "tcp://localhost:2375", Address: "10.0.0.2"}, false}, // its port is forwarded
	} {
		block := config.Settings{Docker: &steps.DockerSpec{Hosts: []steps.DockerHost{{URL: "unix:///run/a.sock"}, tt.host}}}
		if here(block, 1, "engine:v1") != tt.here {
			t.Errorf("with a daemon at %+v: %v, want %v", tt.host, !tt.here, tt.here)
		}
	}
}

// failing is a place that cannot be given back.
type failing struct {
	place.Base
	closed *int
}

func (failing) GPUs(place.Target, place.Process) place.GPUs { return place.GPUs{} }

func (failing) Assign(place.Target, place.Process, []string) (place.Slot, error) {
	return place.Slot{}, nil
}

func (f failing) Close(context.Context) error { *f.closed++; return errors.New("it is still held") }

// TestPlacesAreClosedOnce: a place that could not be given back is a warning of the run, and
// must not become an error of its result.
func TestPlacesAreClosedOnce(t *testing.T) {
	closed := 0
	set := place.NewSet([]place.Kind{{
		Takes: func(place.Options, place.Process) bool { return true },
		New:   func(place.Options) (place.Place, error) { return failing{closed: &closed}, nil },
	}}, place.Options{Plan: &plan.Plan{Config: &config.Config{}}})
	if err := set.Prepare([]place.Target{{Processes: []place.Process{{Name: "s"}}}}); err != nil {
		t.Fatal(err)
	}
	if err := set.Close(t.Context()); err == nil {
		t.Error("the first call reports nothing")
	}
	if err := set.Close(t.Context()); err != nil || closed != 1 {
		t.Errorf("closed %d times, and the second call reports %v", closed, err)
	}
}
