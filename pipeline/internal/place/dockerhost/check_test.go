package dockerhost

import (
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/steps"
)

// An image that one server must find there is asked for as such, whoever else would pull it.
func TestWantsOfAHost(t *testing.T) {
	server := func(node int, image string, never bool) *config.Server {
		spec := steps.ServerSpec{Image: image, Node: node}
		if never {
			spec.Container = &steps.ContainerSpec{Pull: steps.PullNever}
		}
		return &config.Server{Spec: spec}
	}
	cfg := &config.Config{Servers: []*config.Server{
		server(0, "last", false), server(0, "last", true),
		server(0, "first", true), server(0, "first", false),
		server(0, "pulled", false), server(0, "pulled", false),
		server(1, "last", false),
	}}
	got := wantedOf(cfg, 2)
	for i, want := range []map[string]bool{{"last": true, "first": true, "pulled": false}, {"last": false}} {
		if len(got[i].images) != len(want) {
			t.Errorf("host %d: images %v", i, got[i].images)
		}
		for image, never := range want {
			if has, ok := got[i].images[image]; !ok || has != never {
				t.Errorf("host %d: image %s is there: %t, never pulled: %t, want %t", i, image, ok, has, never)
			}
		}
	}
}
