package steps_test

import (
	"testing"

	"github.com/servegate/pipeline/steps"
)

func TestDockerHostReached(t *testing.T) {
	for _, tt := range []struct {
		host      steps.DockerHost
		reached   string
		elsewhere bool
	}{
		{steps.DockerHost{URL: "tcp://10.0.0.2:2376"}, "10.0.0.2", true},
		{steps.DockerHost{URL: "ssh://me@gpu2"}, "gpu2", true},
		{steps.DockerHost{URL: "ssh://me@gpu2", Address: "10.9.0.2"}, "10.9.0.2", true},
		{steps.DockerHost{URL: "unix:///var/run/docker.sock"}, "", false},
		{steps.DockerHost{URL: "unix:///var/run/docker.sock", Address: "10.9.0.1"}, "10.9.0.1", false},
		{steps.DockerHost{URL: "tcp://localhost:2375"}, "", false},
	} {
		if got := tt.host.Reached(); got != tt.reached || tt.host.Elsewhere() != tt.elsewhere {
			t.Errorf("%v is reached at %q, elsewhere %t", tt.host, got, tt.host.Elsewhere())
		}
	}
}
