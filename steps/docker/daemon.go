package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/ory/dockertest/v3"
	dc "github.com/ory/dockertest/v3/docker"
)

// DefaultHost is the socket of the local daemon.
const DefaultHost = "unix:///var/run/docker.sock"

// HostFromEnv returns the host set by DOCKER_HOST, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH, in the form for
// [Options]. It ignores contexts of the docker program.
func HostFromEnv(getenv func(string) string) string {
	host := getenv("DOCKER_HOST")
	if host == "" {
		return DefaultHost
	}
	certs := getenv("DOCKER_CERT_PATH")
	if certs == "" && getenv("DOCKER_TLS_VERIFY") == "" || !strings.HasPrefix(host, "tcp://") {
		return host
	}
	if certs == "" {
		certs = filepath.Join(getenv("HOME"), ".docker")
	}
	return host + "?certs=" + url.QueryEscape(certs)
}

// daemon is a connection to one daemon.
type daemon struct {
	pool *dockertest.Pool
	// base is the base URL of its API, for requests that dockertest's client does not support.
	base string
	// address is the address at which ports are published and reached: loopback, or the daemon's machine.
	address string
	// local means that the daemon shares this machine's files and ports.
	local bool
}

// connect returns the daemon at host, without contacting it.
func connect(host string) (*daemon, error) {
	if host == "" {
		host = DefaultHost
	}
	u, err := url.Parse(host)
	if err != nil {
		return nil, fmt.Errorf("docker host %q: %w", host, err)
	}
	d := &daemon{address: "127.0.0.1", local: true, base: "http://docker"}
	certs := u.Query().Get("certs")
	u.RawQuery = ""
	switch u.Scheme {
	case "unix":
	case "tcp", "http", "https":
		if d.address, d.local, err = reach(u.Hostname()); err != nil {
			return nil, fmt.Errorf("docker host %q: %w", host, err)
		}
		u.Scheme = "http"
		if certs != "" {
			u.Scheme = "https"
		}
		d.base = u.Scheme + "://" + u.Host
	case "ssh":
		return nil, fmt.Errorf(
			"docker host %q: ssh cannot be dialled; forward the socket first, as OpenTunnel and `ssh -nNT -L SOCKET:/var/run/docker.sock HOST` do",
			host)
	default:
		return nil, fmt.Errorf("docker host %q: it must begin with unix:// or tcp://", host)
	}
	if d.pool, err = pool(u.String(), certs); err != nil {
		return nil, fmt.Errorf("docker host %q: %w", host, err)
	}
	return d, nil
}

// pool connects with dockertest. The endpoint's scheme is http, https or unix, because for others dockertest
// searches the environment for certificates.
func pool(endpoint, certs string) (*dockertest.Pool, error) {
	if certs == "" {
		return dockertest.NewPool(endpoint)
	}
	// Without this file dockertest would trust any server.
	if _, err := os.Stat(filepath.Join(certs, "ca.pem")); err != nil {
		return nil, fmt.Errorf("the daemon's certificate cannot be checked: %w", err)
	}
	return dockertest.NewTLSPool(endpoint, certs)
}

// reach returns the address at which the ports of a daemon's machine are reached. It resolves names, because
// the daemon publishes only on addresses.
func reach(host string) (address string, local bool, err error) {
	ip := net.ParseIP(host)
	if ip == nil {
		found, err := net.LookupIP(host)
		if err != nil {
			return "", false, err
		}
		ip = found[0]
	}
	if ip.IsLoopback() {
		return "127.0.0.1", true, nil
	}
	return ip.String(), false, nil
}

// ping returns an error if the daemon does not answer.
func (d *daemon) ping(ctx context.Context) error {
	if err := d.pool.Client.PingWithContext(ctx); err != nil {
		if request, ok := errors.AsType[*url.Error](err); ok {
			err = request.Err // its address is made up where the daemon listens on a socket
		}
		return fmt.Errorf("the Docker daemon does not answer: %w; start it, or set DOCKER_HOST", err)
	}
	return nil
}

// ask makes a request that dockertest's client does not support: without a context, with unknown settings, or
// with an API version that new daemons reject. It sends body and decodes the response into answer, each unless
// nil.
func (d *daemon) ask(ctx context.Context, method, path string, query url.Values, body, answer any) error {
	target := d.base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	var payload bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&payload).Encode(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, target, &payload)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := d.pool.Client.HTTPClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= 300 {
		return apiError(resp)
	}
	if answer == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		return fmt.Errorf("reading the answer to %s: %w", path, err)
	}
	return nil
}

// get makes a GET request and decodes the response.
func (d *daemon) get(ctx context.Context, path string, query url.Values, into any) error {
	return d.ask(ctx, http.MethodGet, path, query, nil, into)
}

// maxMessage is how much of an error message is read, in bytes.
const maxMessage = 16 << 10

func apiError(resp *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, maxMessage))
	var answer struct{ Message string }
	if json.Unmarshal(data, &answer) != nil || answer.Message == "" {
		answer.Message = strings.TrimSpace(string(data))
	}
	return &dc.Error{Status: resp.StatusCode, Message: answer.Message}
}

// status returns the HTTP status in a daemon's error, 0 for any other error.
func status(err error) int {
	var gone *dc.NoSuchContainer
	var api *dc.Error
	switch {
	case errors.As(err, &gone):
		return http.StatusNotFound
	case errors.As(err, &api):
		return api.Status
	}
	return 0
}
