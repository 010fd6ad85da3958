package lang

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

func TestReadDocker(t *testing.T) {
	host := func(url string, more ...string) steps.Object {
		attrs := map[string]cty.Value{"url": cty.StringVal(url)}
		for i := 0; i+1 < len(more); i += 2 {
			attrs[more[i]] = cty.StringVal(more[i+1])
		}
		return steps.Object{Attrs: attrs}
	}
	for name, tt := range map[string]struct {
		hosts []steps.Object
		want  string
	}{
		"one of this machine": {hosts: []steps.Object{host("unix:///var/run/docker.sock")}},
		"two":                 {hosts: []steps.Object{host("tcp://10.0.0.1:2376", "certs", "certs"), host("ssh://me@gpu2:2222/run/docker.sock")}},
		"with an address":     {hosts: []steps.Object{host("unix:///var/run/docker.sock", "address", "10.0.0.1"), host("tcp://[fd00::2]:2375")}},
		"the same twice":      {hosts: []steps.Object{host("tcp://a:1"), host("tcp://a:1")}, want: "hosts 0 and 1 have the same url"},
		"nobody reaches it": {hosts: []steps.Object{host("unix:///var/run/docker.sock"), host("tcp://a:1")},
			want: "host 0 has no address that the other hosts reach"},
		"loopback":             {hosts: []steps.Object{host("tcp://127.0.0.1:2375"), host("tcp://a:1")}, want: "host 0 has no address"},
		"no port":              {hosts: []steps.Object{host("tcp://a")}, want: "write tcp://HOST:PORT"},
		"http":                 {hosts: []steps.Object{host("http://a:1")}, want: "write tcp://HOST:PORT"},
		"a query":              {hosts: []steps.Object{host("tcp://a:1?certs=/x")}, want: "set certs for TLS"},
		"certs without tcp":    {hosts: []steps.Object{host("ssh://a", "certs", "x")}, want: "certs are for a tcp url"},
		"an option of ssh":     {hosts: []steps.Object{host("ssh://-oProxyCommand=x")}, want: "write ssh://USER@HOST"},
		"an option as user":    {hosts: []steps.Object{host("ssh://-lx@host")}, want: "write ssh://USER@HOST"},
		"a password":           {hosts: []steps.Object{host("ssh://me:secret@host")}, want: "must not have a password"},
		"a socket with colons": {hosts: []steps.Object{host("ssh://host/a:b")}, want: "must not have a colon"},
		"an address with port": {hosts: []steps.Object{host("tcp://a:1", "address", "a/b")}, want: "is not an address"},
		"not a url":            {hosts: []steps.Object{host("tcp://%zz:1")}, want: "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			s, found := readDocker(steps.Object{Blocks: map[string][]steps.Object{"host": tt.hosts}})
			if len(s.Hosts) != len(tt.hosts) {
				t.Errorf("%d hosts", len(s.Hosts))
			}
			if tt.want == "" && len(found) > 0 || tt.want != "" && (len(found) == 0 || !strings.Contains(found[0].Summary, tt.want)) {
				t.Errorf("got %v, want %q", found, tt.want)
			}
		})
	}
}
