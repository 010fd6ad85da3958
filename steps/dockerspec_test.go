package steps

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func TestReadDocker(t *testing.T) {
	host := func(url string, more ...string) Object {
		attrs := map[string]cty.Value{"url": cty.StringVal(url)}
		for i := 0; i+1 < len(more); i += 2 {
			attrs[more[i]] = cty.StringVal(more[i+1])
		}
		return Object{Attrs: attrs}
	}
	for name, tt := range map[string]struct {
		hosts []Object
		want  string
	}{
		"one of this machine": {hosts: []Object{host("unix:///var/run/docker.sock")}},
		"two":                 {hosts: []Object{host("tcp://10.0.0.1:2376", "certs", "certs"), host("ssh://me@gpu2:2222/run/docker.sock")}},
		"with an address":     {hosts: []Object{host("unix:///var/run/docker.sock", "address", "10.0.0.1"), host("tcp://[fd00::2]:2375")}},
		"the same twice":      {hosts: []Object{host("tcp://a:1"), host("tcp://a:1")}, want: "hosts 0 and 1 have the same url"},
		"nobody reaches it": {hosts: []Object{host("unix:///var/run/docker.sock"), host("tcp://a:1")},
			want: "host 0 has no address that the other hosts reach"},
		"loopback":             {hosts: []Object{host("tcp://127.0.0.1:2375"), host("tcp://a:1")}, want: "host 0 has no address"},
		"no port":              {hosts: []Object{host("tcp://a")}, want: "write tcp://HOST:PORT"},
		"http":                 {hosts: []Object{host("http://a:1")}, want: "write tcp://HOST:PORT"},
		"a query":              {hosts: []Object{host("tcp://a:1?certs=/x")}, want: "set certs for TLS"},
		"certs without tcp":    {hosts: []Object{host("ssh://a", "certs", "x")}, want: "certs are for a tcp url"},
		"an option of ssh":     {hosts: []Object{host("ssh://-oProxyCommand=x")}, want: "write ssh://USER@HOST"},
		"an option as user":    {hosts: []Object{host("ssh://-lx@host")}, want: "write ssh://USER@HOST"},
		"a password":           {hosts: []Object{host("ssh://me:secret@host")}, want: "must not have a password"},
		"a socket with colons": {hosts: []Object{host("ssh://host/a:b")}, want: "must not have a colon"},
		"an address with port": {hosts: []Object{host("tcp://a:1", "address", "a/b")}, want: "is not an address"},
		"not a url":            {hosts: []Object{host("tcp://%zz:1")}, want: "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			s, found := ReadDocker(Object{Blocks: map[string][]Object{"host": tt.hosts}})
			if len(s.Hosts) != len(tt.hosts) {
				t.Errorf("%d hosts", len(s.Hosts))
			}
			if tt.want == "" && len(found) > 0 || tt.want != "" && (len(found) == 0 || !strings.Contains(found[0].Summary, tt.want)) {
				t.Errorf("got %v, want %q", found, tt.want)
			}
		})
	}
}

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
