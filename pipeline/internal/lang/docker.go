package lang

import (
	"fmt"

	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// maxDockerHosts limits the daemons of one run.
const maxDockerHosts = 64

// dockerSchema describes the docker block.
func dockerSchema() steps.Schema {
	return steps.Schema{Blocks: []steps.BlockSchema{{
		Type: "host", Min: 1, Max: maxDockerHosts,
		Doc: "A daemon. Servers name it by its number in the argument node, counted from 0 in the order of the blocks.",
		Schema: steps.Schema{Attrs: []steps.Attr{
			{Name: "url", Type: cty.String, Required: true, Doc: "Where the daemon listens: tcp://10.0.0.2:2376, ssh://me@gpu2 (its socket is " +
				"forwarded by ssh, which must not ask for a password) or unix:///var/run/docker.sock."},
			{Name: "certs", Type: cty.String, Doc: "Folder with ca.pem, cert.pem and key.pem for a daemon behind TLS, meant from the pipeline " +
				"file's folder. Without it a tcp daemon is talked to in the clear."},
			{Name: "address", Type: cty.String, Doc: "Address at which the other hosts and this machine reach the servers of the host, such as " +
				"that of its fast network; the one of the url unless set."},
		}},
	}}}
}

// readDocker reads a docker block and checks it beyond types.
func readDocker(o steps.Object) (*steps.DockerSpec, []steps.Problem) {
	s := &steps.DockerSpec{}
	var found []steps.Problem
	for _, b := range o.Blocks["host"] {
		h := steps.DockerHost{URL: b.Text("url"), Certs: b.Text("certs"), Address: b.Text("address")}
		s.Hosts = append(s.Hosts, h)
		if problem := h.Problem(); problem != "" {
			found = append(found, steps.Problem{Path: []string{"host"}, Summary: fmt.Sprintf("host %d: %s", len(s.Hosts)-1, problem)})
		}
	}
	for i, h := range s.Hosts {
		for j, other := range s.Hosts[:i] {
			if h.URL == other.URL {
				found = append(found, steps.Problem{Path: []string{"host"}, Summary: fmt.Sprintf("hosts %d and %d have the same url", j, i),
					Detail: "Servers that share a host name it by one number."})
			}
		}
		if len(s.Hosts) > 1 && h.Reached() == "" {
			found = append(found, steps.Problem{
				Path: []string{"host"}, Summary: fmt.Sprintf("host %d has no address that the other hosts reach", i),
				Detail: "Its url is one of this machine: set address to the machine's address in their network.",
			})
		}
	}
	return s, found
}
