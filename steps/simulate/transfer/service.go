package transfer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/simulate/clock"
	"github.com/servegate/pipeline/steps/simulate/wire"
)

// The services that connectors need beside the servers.
const (
	serviceEtcd     = "etcd"
	serviceMetadata = "metadata"
	serviceMaster   = "mooncake_master"
)

// ServiceOf says which service a command line starts, and its flags; "" for none.
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

// service is a stub of a service with the part that simulated servers use: a store of
// keys for peers to find each other, and for the master a pool of KV.
type service struct {
	kind  string
	flags map[string]string
	log   io.Writer
	clock clock.Clock

	mu   sync.Mutex
	keys map[string][]byte
	pool *store
}

// RunService plays a service until ctx ends. It returns the exit status.
func RunService(ctx context.Context, kind string, flags []string, log io.Writer) int {
	parsed, err := serviceFlags(flags)
	if err != nil {
		fmt.Fprintf(log, "%s: %v\n", kind, err)
		return 2
	}
	s := &service{kind: kind, flags: parsed, log: log, clock: clock.NewWall(1), keys: make(map[string][]byte), pool: newStore()}
	if err := s.run(ctx); err != nil {
		fmt.Fprintf(log, "%s: %v\n", kind, err)
		return 1
	}
	return 0
}

// serviceFlags reads -name value, --name value and --name=value; dashes and underscores
// mean the same.
func serviceFlags(args []string) (map[string]string, error) {
	flags := map[string]string{}
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

func (s *service) flag(name, fallback string) string { return cmp.Or(s.flags[name], fallback) }

// loopback is where a service listens unless its flags say otherwise. Mooncake's own programs would
// listen on all interfaces.
const loopback = "127.0.0.1"

// endpoint is one listener of a service.
type endpoint struct {
	address string
	handler http.Handler // nil for KV frames
}

func (s *service) endpoints() ([]endpoint, error) {
	switch s.kind {
	case serviceEtcd:
		var out []endpoint
		for u := range strings.SplitSeq(s.flag("listen_client_urls", "http://"+loopback+":2379"), ",") {
			parsed, err := url.Parse(u)
			if err != nil || parsed.Host == "" {
				return nil, fmt.Errorf("--listen-client-urls %q is no URL", u)
			}
			out = append(out, endpoint{parsed.Host, s.etcd()})
		}
		return out, nil
	case serviceMetadata:
		return []endpoint{{net.JoinHostPort(s.flag("host", loopback), s.flag("port", "8080")), s.metadata()}}, nil
	}
	host := s.flag("rpc_address", loopback)
	out := []endpoint{
		{net.JoinHostPort(host, s.flag("rpc_port", s.flag("port", "50051"))), nil},
		{net.JoinHostPort(host, s.flag("metrics_port", "9003")), healthy(http.NewServeMux())},
	}
	if on := s.flags["enable_http_metadata_server"]; on == "true" || on == "1" {
		out = append(out, endpoint{net.JoinHostPort(s.flag("http_metadata_server_host", host), s.flag("http_metadata_server_port", "8080")), s.metadata()})
	}
	return out, nil
}

// run listens on everything, then serves until ctx ends.
func (s *service) run(ctx context.Context) error {
	endpoints, err := s.endpoints()
	if err != nil {
		return err
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, e := range endpoints {
		ln, err := net.Listen("tcp", e.address)
		if err != nil {
			return err
		}
		stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
		defer stop()
		if e.handler == nil {
			serving.Go(func() {
				accept(ctx, &serving, ln, func(conn net.Conn) {
					for s.poolFrame(ctx, conn) == nil {
						continue
					}
				})
			})
			continue
		}
		server := &http.Server{Handler: e.handler, ReadHeaderTimeout: time.Minute}
		stopServer := context.AfterFunc(ctx, func() { _ = server.Close() })
		defer stopServer()
		serving.Go(func() { _ = server.Serve(ln) }) // returns when it is closed
	}
	fmt.Fprintf(s.log, "simulated %s is listening on %s\n", s.kind, endpoints[0].address)
	<-ctx.Done()
	return nil
}

// maxKeys and maxValue bound what a service keeps.
const (
	maxKeys  = 10_000
	maxValue = 1 << 20
)

func (s *service) get(key string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.keys[key]
	return v, ok
}

func (s *service) put(key string, value []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.keys[key]; !known && len(s.keys) >= maxKeys || len(value) > maxValue {
		return false
	}
	s.keys[key] = value
	return true
}

// healthy answers whether a service is there.
func healthy(mux *http.ServeMux) *http.ServeMux {
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "OK") })
	return mux
}

// metadata is mooncake.http_metadata_server: PUT and GET /metadata?key=….
func (s *service) metadata() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metadata", func(w http.ResponseWriter, r *http.Request) {
		v, ok := s.get(r.URL.Query().Get("key"))
		if !ok {
			http.Error(w, "metadata not found", http.StatusNotFound)
			return
		}
		_, _ = w.Write(v) // the client is gone if this fails
	})
	mux.HandleFunc("PUT /metadata", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxValue+1))
		if err != nil || !s.put(r.URL.Query().Get("key"), body) {
			http.Error(w, "the metadata cannot be stored", http.StatusRequestEntityTooLarge)
			return
		}
		fmt.Fprint(w, "metadata updated")
	})
	return healthy(mux)
}

// etcd is the JSON gateway of etcd 3 for single keys.
func (s *service) etcd() http.Handler {
	type pair struct {
		Key   []byte `json:"key"`
		Value []byte `json:"value,omitempty"`
	}
	mux := http.NewServeMux()
	// call reads a request for a key and answers what do returns; nil is a full store.
	call := func(method string, do func(pair) any) {
		mux.HandleFunc("POST /v3/kv/"+method, func(w http.ResponseWriter, r *http.Request) {
			var p pair
			if err := json.NewDecoder(io.LimitReader(r.Body, 2*maxValue)).Decode(&p); err != nil {
				wire.WriteJSON(w, http.StatusBadRequest, map[string]any{"error": err.Error(), "code": 3})
				return
			}
			status, answer := http.StatusOK, do(p)
			if answer == nil {
				status, answer = http.StatusTooManyRequests, map[string]any{"error": "etcdserver: mvcc: database space exceeded", "code": 8}
			}
			wire.WriteJSON(w, status, answer)
		})
	}
	call("put", func(p pair) any {
		if !s.put(string(p.Key), p.Value) {
			return nil
		}
		return map[string]any{"header": map[string]string{}}
	})
	call("range", func(p pair) any {
		kvs := []pair{}
		if v, ok := s.get(string(p.Key)); ok {
			kvs = append(kvs, pair{p.Key, v})
		}
		return map[string]any{"kvs": kvs, "count": strconv.Itoa(len(kvs))}
	})
	return healthy(mux)
}

// poolFrame answers one frame. Entries stay: a store's KV serves many readers.
func (s *service) poolFrame(ctx context.Context, conn net.Conn) error {
	f, err := readFrame(conn)
	if err != nil {
		return err
	}
	switch f.Op {
	case "hello":
		return writeFrame(conn, frame{Op: "ok", Engine: serviceMaster})
	case "put":
		if err := writeFrame(conn, frame{Op: "ready"}); err != nil {
			return err
		}
		if err := discard(conn, f.Payload); err != nil {
			return err
		}
		s.pool.put(f.Key, entry{tokens: f.Tokens, since: s.clock.Now(), request: -1})
		s.pool.trim(maxKeys)
		return writeFrame(conn, frame{Op: "ok"})
	case "get":
		e, ok := s.pool.take(ctx, f.Key, false, true)
		n := min(e.tokens, f.Tokens)
		if !ok || n == 0 {
			return writeFrame(conn, frame{Op: "miss"})
		}
		if err := writeFrame(conn, frame{Op: "kv", Tokens: n, Payload: 1}); err != nil {
			return err
		}
		return writePayload(conn, 1)
	}
	return errFrame
}
