package steps

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// DockerSpec is the Docker daemons that the servers of a run are placed on.
type DockerSpec struct {
	// Hosts by their number, from 0.
	Hosts []DockerHost
}

// DockerHost is one daemon.
type DockerHost struct {
	// URL is unix:///PATH, tcp://HOST:PORT or ssh://[USER@]HOST[:PORT][/PATH-OF-THE-SOCKET].
	URL string
	// Certs is the folder with ca.pem, cert.pem and key.pem of TLS, "" for none.
	Certs string
	// Address at which servers of the host are reached, "" for that of the URL.
	Address string
}

// maxDockerHosts bounds how many daemons one run may have.
const maxDockerHosts = 64

// DockerSchema describes the docker block.
func DockerSchema() Schema {
	return Schema{Blocks: []BlockSchema{{
		Type: "host", Min: 1, Max: maxDockerHosts,
		Doc: "A daemon. Servers name it by its number in the argument node, counted from 0 in the order of the blocks.",
		Schema: Schema{Attrs: []Attr{
			{Name: "url", Type: cty.String, Required: true, Doc: "Where the daemon listens: tcp://10.0.0.2:2376, ssh://me@gpu2 (its socket is " +
				"forwarded by ssh, which must not ask for a password) or unix:///var/run/docker.sock."},
			{Name: "certs", Type: cty.String, Doc: "Folder with ca.pem, cert.pem and key.pem for a daemon behind TLS, meant from the pipeline " +
				"file's folder. Without it a tcp daemon is talked to in the clear."},
			{Name: "address", Type: cty.String, Doc: "Address at which the other hosts and this machine reach the servers of the host, such as " +
				"that of its fast network; the one of the url unless set."},
		}},
	}}}
}

// ReadDocker reads a docker block and finds what is wrong with it beyond types.
func ReadDocker(o Object) (*DockerSpec, []Problem) {
	s := &DockerSpec{}
	var found []Problem
	for _, b := range o.Blocks["host"] {
		h := DockerHost{URL: b.Text("url"), Certs: b.Text("certs"), Address: b.Text("address")}
		s.Hosts = append(s.Hosts, h)
		if problem := h.Problem(); problem != "" {
			found = append(found, Problem{Path: []string{"host"}, Summary: fmt.Sprintf("host %d: %s", len(s.Hosts)-1, problem)})
		}
	}
	for i, h := range s.Hosts {
		for j, other := range s.Hosts[:i] {
			if h.URL == other.URL {
				found = append(found, Problem{Path: []string{"host"}, Summary: fmt.Sprintf("hosts %d and %d have the same url", j, i),
					Detail: "Servers that share a host name it by one number."})
			}
		}
		if len(s.Hosts) > 1 && h.Reached() == "" {
			found = append(found, Problem{
				Path: []string{"host"}, Summary: fmt.Sprintf("host %d has no address that the other hosts reach", i),
				Detail: "Its url is one of this machine: set address to the machine's address in their network.",
			})
		}
	}
	return s, found
}

// Problem says what is wrong with a host, "" for nothing.
func (h DockerHost) Problem() string {
	u, err := url.Parse(h.URL)
	switch {
	case err != nil:
		return "the url cannot be read: " + err.Error()
	case u.RawQuery != "" || u.Fragment != "":
		return "the url must not have a query; set certs for TLS"
	case u.Scheme == "unix" && u.Host == "" && u.Path != "":
	case u.Scheme == "tcp" && u.Hostname() != "" && u.Port() != "" && u.Path == "" && u.User == nil:
	case u.Scheme == "ssh":
		return h.sshProblem(u)
	default:
		return fmt.Sprintf("the url is %q; write tcp://HOST:PORT, ssh://USER@HOST or unix:///PATH", h.URL)
	}
	if h.Certs != "" && u.Scheme != "tcp" {
		return "certs are for a tcp url"
	}
	return h.addressProblem()
}

// sshProblem refuses what ssh would take for one of its options.
func (h DockerHost) sshProblem(u *url.URL) string {
	_, password := u.User.Password()
	switch {
	case u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-") || strings.HasPrefix(u.User.Username(), "-") ||
		strings.ContainsAny(u.Host+u.User.Username()+u.Path, " \t\n\x00"):
		return fmt.Sprintf("the url is %q; write ssh://USER@HOST or ssh://USER@HOST:PORT", h.URL)
	case password:
		return "the url must not have a password; ssh has to get in by a key"
	case h.Certs != "":
		return "certs are for a tcp url"
	case strings.ContainsRune(u.Path, ':'):
		return "the path of the socket must not have a colon"
	}
	return h.addressProblem()
}

func (h DockerHost) addressProblem() string {
	if strings.ContainsAny(h.Address, " /\t\n\x00") || strings.HasPrefix(h.Address, "-") {
		return fmt.Sprintf("%q is not an address; write a name or an IP address without a port", h.Address)
	}
	return ""
}

// Elsewhere reports whether the daemon is on another machine than this.
func (h DockerHost) Elsewhere() bool {
	return h.Reached() != "" && !strings.HasPrefix(h.URL, "unix:")
}

// Reached is the address at which others reach the host, "" if it has none but this machine's own.
func (h DockerHost) Reached() string {
	if h.Address != "" {
		return h.Address
	}
	u, err := url.Parse(h.URL)
	if err != nil || u.Scheme == "unix" {
		return ""
	}
	switch u.Hostname() {
	case "localhost", "127.0.0.1", "::1":
		return ""
	}
	return u.Hostname()
}
