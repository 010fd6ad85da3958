package plan

import (
	"testing"

	"github.com/servegate/pipeline/steps"
)

// What a launch depends on distinguishes plans: the Docker hosts that a server runs on, and no
// others, wherever the certificates for them lie.
func TestSettingsKnowHosts(t *testing.T) {
	at := func(urls ...string) *steps.DockerSpec {
		var d steps.DockerSpec
		for _, u := range urls {
			d.Hosts = append(d.Hosts, steps.DockerHost{URL: u})
		}
		return &d
	}
	server := steps.ServerSpec{Image: "engine:v1", Node: 1}
	wide := steps.ServerSpec{Image: "engine:v1", Nodes: 2}
	sealed := at("tcp://a:1", "tcp://b:1")
	sealed.Hosts[1].Certs = "/certs"
	for name, tt := range map[string]struct {
		a, b steps.ServerSpec
		x, y *steps.DockerSpec
		same bool
	}{
		"its own host":       {a: server, b: server, x: at("tcp://a:1", "tcp://b:1"), y: at("tcp://a:1", "tcp://c:1")},
		"another's host":     {a: server, b: server, x: at("tcp://a:1", "tcp://b:1"), y: at("tcp://z:1", "tcp://b:1"), same: true},
		"one of its hosts":   {a: wide, b: wide, x: at("tcp://a:1", "tcp://b:1"), y: at("tcp://a:1", "tcp://c:1")},
		"no block":           {a: server, b: server, x: nil, y: at("tcp://a:1", "tcp://b:1")},
		"other certificates": {a: server, b: server, x: at("tcp://a:1", "tcp://b:1"), y: sealed, same: true},
		"more nodes":         {a: steps.ServerSpec{}, b: steps.ServerSpec{Nodes: 2}},
		"beyond the block": {a: steps.ServerSpec{Image: "i", Node: 9}, b: steps.ServerSpec{Image: "i", Node: 9}, x: at("tcp://a:1"),
			y: at("tcp://b:1"), same: true},
	} {
		if same := settings(tt.a, tt.x) == settings(tt.b, tt.y); same != tt.same {
			t.Errorf("%s: the same %t, want %t", name, same, tt.same)
		}
	}
}
