package dockerhost

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
)

// Where a daemon is reached through a forwarded socket its servers are at its own address.
func TestDockerHosts(t *testing.T) {
	getenv := func(name string) string { return map[string]string{"DOCKER_HOST": "ssh://me@gpu2:22"}[name] }
	for name, tt := range map[string]struct {
		spec *steps.DockerSpec
		want []string // url and address
	}{
		"DOCKER_HOST": {nil, []string{"unix://TMP/pipeline-ssh-r/docker.sock gpu2"}},
		"two": {
			&steps.DockerSpec{Hosts: []steps.DockerHost{{URL: "tcp://10.0.0.1:2376", Certs: "my certs"}, {URL: "ssh://gpu3", Address: "10.9.0.3"},
				{URL: "tcp://h:1", Certs: "/c"}}},
			[]string{"tcp://10.0.0.1:2376?certs=%2Ff%2Fmy+certs ", "unix://TMP/pipeline-ssh-r-1/docker.sock 10.9.0.3", "tcp://h:1?certs=%2Fc "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", "TMP")
			var got []string
			for _, h := range hostsOf(tt.spec, "/f", "r", getenv) {
				got = append(got, h.url+" "+h.address)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
