package router

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// Config of a router.
type Config struct {
	// Protocol is one of the constants, for example [NIXL].
	Protocol string
	// Prefill servers; empty for round_robin.
	Prefill []Backend
	// Decode servers, or all servers for round_robin.
	Decode   []Backend
	Timeouts Timeouts
	// MaxBody is the limit of a request's body in bytes; 0 means 64 MiB.
	MaxBody int64
	// MaxBodies is the limit, in bytes, of the bodies of all requests in flight and the answers of their
	// prefill servers together; 0 means 1 GiB.
	MaxBodies int64
	// AllowRecompute sends requests to decode even if prefill returned no parameters.
	AllowRecompute bool
	// Simulated is true if the servers are simulated. Requests then carry the times of their arrival and of
	// the end of prefill, so that the servers' model does not include the router's time. See
	// [github.com/servegate/pipeline/steps/stamp].
	Simulated bool
	// Log receives a line for the first failure of each kind on each server; nil drops it.
	Log func(line string)
	// Random is a source of uniform 64-bit numbers, safe for concurrent use; nil selects the runtime's.
	Random func() uint64
}

// Timeouts of the router. Zero selects the default.
type Timeouts struct {
	Dial    time.Duration // of a connection: 5 s
	Prefill time.Duration // of the whole prefill phase of a request: 10 min
	Request time.Duration // of a whole request: 1 h
	Probe   time.Duration // of a health check or the reset of a cache: 10 s
}

func (t Timeouts) withDefaults() Timeouts {
	t.Dial = cmp.Or(t.Dial, 5*time.Second)
	t.Prefill = cmp.Or(t.Prefill, 10*time.Minute)
	t.Request = cmp.Or(t.Request, time.Hour)
	t.Probe = cmp.Or(t.Probe, 10*time.Second)
	return t
}

const (
	defaultMaxBody   = 64 << 20
	defaultMaxBodies = 1 << 30
)

// Backend is a server behind the router.
type Backend struct {
	// Name in answers, errors and metrics; the default is "prefill0", "decode1" and so on.
	Name string
	// URL is the base URL, for example http://127.0.0.1:8100.
	URL string
	// BootstrapHost and BootstrapPort are the address at which a prefill server of Mooncake or SGLang
	// connects the two sides. The host defaults to the URL's.
	BootstrapHost string
	BootstrapPort int
	// KVAddr is the "ip:port" of a server's P2pNcclConnector.
	KVAddr string
}

// ParseBackend reads a backend as the command line has it:
//
//	http://127.0.0.1:8100,name=p0,bootstrap=8998,kv=127.0.0.1:21001
//
// Only the URL is needed. bootstrap is a port or host:port.
func ParseBackend(s string) (Backend, error) {
	settings := strings.Split(s, ",")
	b := Backend{URL: settings[0]}
	for _, setting := range settings[1:] {
		key, value, _ := strings.Cut(setting, "=")
		var err error
		switch key {
		case "name":
			b.Name = value
		case "kv":
			b.KVAddr = value
		case "bootstrap":
			b.BootstrapHost, b.BootstrapPort, err = parseBootstrap(value)
		default:
			err = fmt.Errorf("%q is not known; after the URL come name=, bootstrap= and kv=", setting)
		}
		if err != nil {
			return Backend{}, fmt.Errorf("server %q: %w", s, err)
		}
	}
	return b, nil
}

func parseBootstrap(value string) (host string, port int, err error) {
	number := value
	if strings.Contains(value, ":") {
		if host, number, err = net.SplitHostPort(value); err != nil {
			return "", 0, fmt.Errorf("bootstrap=%s is neither a port nor host:port", value)
		}
	}
	port, err = parsePort(number)
	if err != nil {
		return "", 0, fmt.Errorf("bootstrap=%s: %w", value, err)
	}
	return host, port, nil
}

func parsePort(s string) (int, error) {
	port, err := strconv.Atoi(s)
	if err != nil || port < 1 || port > 65535 {
		return 0, fmt.Errorf("port %q is not a number from 1 to 65535", s)
	}
	return port, nil
}

// Protocols lists the names of the protocols.
func Protocols() []string {
	names := make([]string, len(protocols))
	for i, p := range protocols {
		names[i] = p.name
	}
	return names
}

// check returns the protocol and the members of both roles, or all errors of the configuration.
func (c Config) check() (protocol, []*member, []*member, error) {
	i := slices.IndexFunc(protocols, func(p protocol) bool { return p.name == c.Protocol })
	if i < 0 {
		return protocol{}, nil, nil, fmt.Errorf("protocol %q is not known; choose one of %s", c.Protocol, strings.Join(Protocols(), ", "))
	}
	p := protocols[i]
	var errs []error
	switch {
	case p.pairs && len(c.Prefill) == 0:
		errs = append(errs, fmt.Errorf("the protocol %s needs a prefill server; use %s for servers that prefill and decode", p.name, RoundRobin))
	case !p.pairs && len(c.Prefill) > 0:
		errs = append(errs, fmt.Errorf("%s has no prefill servers: name all servers as decode, or choose the protocol of their KV connector",
			p.name))
	}
	if len(c.Decode) == 0 {
		errs = append(errs, errors.New("a router needs a decode server"))
	}
	prefill, err := members(rolePrefill, p, c.Prefill)
	errs = append(errs, err)
	decode, err := members(roleDecode, p, c.Decode)
	errs = append(errs, err)
	seen := map[string]bool{}
	for _, m := range slices.Concat(prefill, decode) {
		if seen[m.Name] {
			errs = append(errs, fmt.Errorf("two servers are called %q; give each a name of its own", m.Name))
		}
		seen[m.Name] = true
	}
	return p, prefill, decode, errors.Join(errs...)
}

func members(role string, p protocol, backends []Backend) ([]*member, error) {
	var all []*member
	var errs []error
	for i, b := range backends {
		if b.Name == "" {
			b.Name = role + strconv.Itoa(i)
		}
		m, err := newMember(role, p, b)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s server %q: %w", role, b.Name, err))
			continue
		}
		all = append(all, m)
	}
	return all, errors.Join(errs...)
}

func newMember(role string, p protocol, b Backend) (*member, error) {
	u, err := url.Parse(b.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not the base of a server; write it like http://127.0.0.1:8100", b.URL)
	}
	if !headerSafe(b.Name) {
		return nil, errors.New("a name is made of letters, digits, '.', '_', '-', '[', ']', '\"' and ':'")
	}
	if role == rolePrefill && p.bootstrap && (b.BootstrapPort < 1 || b.BootstrapPort > 65535) {
		return nil, fmt.Errorf("the protocol %s needs the port of its bootstrap server, for example bootstrap=8998", p.name)
	}
	if p.kvAddr {
		host, port, err := net.SplitHostPort(b.KVAddr)
		if err == nil {
			_, err = parsePort(port)
		}
		if err != nil || !headerSafe(b.KVAddr) || strings.Contains(b.KVAddr, "___") || host == "" {
			return nil, fmt.Errorf("the protocol %s needs the address of its KV connector, for example kv=10.0.0.1:21001", p.name)
		}
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return &member{Backend: b, role: role, base: u}, nil
}

// headerSafe reports whether s can be written to a header unchanged.
var headerSafe = lazyregexp.New(`^[A-Za-z0-9._\-\[\]":]+$`).MatchString

// Concurrent reports whether a protocol sends a request to both servers at once. The others wait for the
// answer of the prefill server.
func Concurrent(name string) bool {
	return slices.ContainsFunc(protocols, func(p protocol) bool { return p.name == name && p.concurrent })
}
