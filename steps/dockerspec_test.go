package steps

import "testing"

func TestDockerHostReached(t *testing.T) {
	for _, tt := range []struct {
		host      DockerHost
		reached   string
		elsewhere bool
	}{
		{DockerHost{URL: "tcp://10.0.0.2:2376"}, "10.0.0.2", true},
		{DockerHost{URL: "ssh://me@gpu2"}, "gpu2", true},
		{DockerHost{URL: "ssh://me@gpu2", Address: "10.9.0.2"}, "10.9.0.2", true},
		{DockerHost{URL: "unix:///var/run/docker.sock"}, "", false},
		{DockerHost{URL: "unix:///var/run/docker.sock", Address: "10.9.0.1"}, "10.9.0.1", false},
		{DockerHost{URL: "tcp://localhost:2375"}, "", false},
	} {
		if got := tt.host.Reached(); got != tt.reached || tt.host.Elsewhere() != tt.elsewhere {
			t.Errorf("%v is reached at %q, elsewhere %t", tt.host, got, tt.host.Elsewhere())
		}
	}
}
