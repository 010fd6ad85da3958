package steps

import (
	"fmt"
	"net/url"
	"strings"
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
	// Address at which servers of the host are reached; "" selects the address of the URL.
	Address string
}

// Problem describes why a host is invalid, or returns "".
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

// sshProblem rejects addresses that ssh would read as an option.
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

// Reached returns the address at which other machines reach the host, or "" if it is reachable only from this
// machine.
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
