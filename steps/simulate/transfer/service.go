package transfer

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"
)

// Services that connectors need besides the servers.
const (
	serviceEtcd     = "etcd"
	serviceMetadata = "metadata"
	serviceMaster   = "mooncake_master"
)

// ServiceOf returns the service that a command line starts, and its flags; "" for none.
func ServiceOf(argv []string) (kind string, flags []string) {
	for i, a := range argv {
		if a == "-m" && i+1 < len(argv) && argv[i+1] == "mooncake.http_metadata_server" {
			return serviceMetadata, argv[i+2:]
		}
	}
	if len(argv) == 0 {
		return "", nil
	}
	switch path.Base(argv[0]) {
	case "etcd":
		return serviceEtcd, argv[1:]
	case "metadata", "mooncake_http_metadata_server":
		return serviceMetadata, argv[1:]
	case "mooncake_master":
		return serviceMaster, argv[1:]
	}
	return "", nil
}

// RunService replaces a service until ctx ends, and returns its exit status. It listens where the
// service does and reports health. The connectors that are simulated over sockets send services no
// other requests.
func RunService(ctx context.Context, kind string, args []string, log io.Writer) int {
	flags, err := serviceFlags(args)
	if err != nil {
		fmt.Fprintf(log, "%s: %v\n", kind, err)
		return 2
	}
	if err := serve(ctx, kind, flags, log); err != nil {
		fmt.Fprintf(log, "%s: %v\n", kind, err)
		return 1
	}
	return 0
}

// flagSet holds the flags of a service, with underscores in their names.
type flagSet map[string]string

// serviceFlags parses -name value, --name value and --name=value; dashes and underscores are
// equivalent.
func serviceFlags(args []string) (flagSet, error) {
	flags := flagSet{}
	for i := 0; i < len(args); i++ {
		bare := strings.TrimLeft(args[i], "-")
		if bare == args[i] || bare == "" {
			return nil, fmt.Errorf("unexpected argument %q", args[i])
		}
		name, value, inline := strings.Cut(bare, "=")
		if !inline {
			value = "true"
			if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
				value = args[i]
			}
		}
		flags[strings.ReplaceAll(name, "-", "_")] = value
	}
	return flags, nil
}

func (f flagSet) get(name, fallback string) string { return cmp.Or(f[name], fallback) }

// loopback is the default listen address of a service. Mooncake's own programs would listen on all
// interfaces.
const loopback = "127.0.0.1"

// addresses returns where a service of a kind listens.
func (f flagSet) addresses(kind string) ([]string, error) {
	switch kind {
	case serviceEtcd:
		var out []string
		for u := range strings.SplitSeq(f.get("listen_client_urls", "http://"+loopback+":2379"), ",") {
			parsed, err := url.Parse(u)
			if err != nil || parsed.Host == "" {
				return nil, fmt.Errorf("--listen-client-urls %q is not a valid URL", u)
			}
			out = append(out, parsed.Host)
		}
		return out, nil
	case serviceMetadata:
		return []string{net.JoinHostPort(f.get("host", loopback), f.get("port", "8080"))}, nil
	}
	host := f.get("rpc_address", loopback)
	out := []string{net.JoinHostPort(host, f.get("rpc_port", f.get("port", "50051"))), net.JoinHostPort(host, f.get("metrics_port", "9003"))}
	if on := f["enable_http_metadata_server"]; on == "true" || on == "1" {
		out = append(out, net.JoinHostPort(f.get("http_metadata_server_host", host), f.get("http_metadata_server_port", "8080")))
	}
	return out, nil
}

// serve listens on all addresses, then answers until ctx ends.
func serve(ctx context.Context, kind string, flags flagSet, log io.Writer) error {
	addresses, err := flags.addresses(kind)
	if err != nil {
		return err
	}
	var serving sync.WaitGroup
	defer serving.Wait() // after all are closed
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "OK") })
	for _, address := range addresses {
		ln, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
		serving.Go(func() { _ = server.Serve(ln) }) // returns when it is closed
		defer func() { _ = server.Close(); _ = ln.Close() }()
	}
	fmt.Fprintf(log, "simulated %s is listening on %s\n", kind, addresses[0])
	<-ctx.Done()
	return nil
}
