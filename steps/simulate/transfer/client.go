package transfer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/clock"
	"github.com/servegate/pipeline/steps/simulate/wire"
)

// source is the location of the KV of a request.
type source struct {
	// dummy KV needs no transfer.
	dummy bool
	// address of the side that has it, "" if the bootstrap server knows it.
	address string
	// bootstrap is the base URL of a bootstrap server.
	bootstrap string
	// engine that is expected there, "" for any.
	engine string
	key    string
	// wait until it is computed.
	wait bool
}

// Fetch gets up to tokens of KV, from the given time on. It returns how many came and when: 0
// without an error means that the other side has none. It counts failures.
func (k *Side) Fetch(at time.Duration, src source, tokens int) (int, time.Duration, error) {
	got, at, err := k.fetch(at, src, tokens)
	if err != nil {
		k.counters.failedLoad()
	}
	return got, at, err
}

func (k *Side) fetch(at time.Duration, src source, tokens int) (int, time.Duration, error) {
	ctx, cancel := k.bounded(k.ctx)
	defer cancel()
	if src.dummy {
		return tokens, at, nil
	}
	address, err := k.locate(ctx, &src)
	if err != nil {
		return 0, at, err
	}
	return k.get(ctx, at, address, src, tokens)
}

// locate finds the address of the side that has the KV.
func (k *Side) locate(ctx context.Context, src *source) (string, error) {
	if src.address != "" {
		return src.address, nil
	}
	// Engines ask once and cache the answer.
	name := src.bootstrap + " " + src.engine
	if address, ok := k.known.Load(name); ok {
		return address.(string), nil
	}
	address, err := k.queryBootstrap(ctx, src)
	if err == nil {
		k.known.Store(name, address)
	}
	return address, err
}

// get fetches over a connection to the address, from the given time on.
func (k *Side) get(ctx context.Context, at time.Duration, address string, src source, tokens int) (int, time.Duration, error) {
	if k.opt.Recompute {
		tokens = 0 // only lets the other side free its blocks
	}
	conn, f, err := k.ask(ctx, address, src.engine, frame{Op: "get", Key: src.key, Tokens: tokens, Wait: src.wait,
		At: clock.Format(k.clock, at)})
	if err != nil {
		return 0, at, err
	}
	defer conn.release()
	switch {
	case f.Op != "kv" || f.Tokens > tokens:
		return 0, at, fmt.Errorf("%w: %s has no blocks for %s", ErrLoad, address, src.key)
	case f.Tokens == 0:
		there, _ := clock.Parse(k.clock, f.At)
		return 0, max(at, there), nil
	}
	end, err := k.take(conn, at, f)
	if err != nil {
		conn.broken = true
		return 0, at, fmt.Errorf("%w: transfer from %s: %w", ErrLoad, address, err)
	}
	if k.plan.CountLoads {
		k.counters.moved(k.bytes(f.Tokens), end-at)
	}
	return f.Tokens, end, nil
}

// take reads the bytes of a transfer that also occupies this side's NICs, and returns its end in
// the model. The bytes may arrive slightly earlier.
func (k *Side) take(conn io.Reader, at time.Duration, f frame) (time.Duration, error) {
	if from, ok := clock.Parse(k.clock, f.From); ok {
		at = max(at, from)
	}
	end := k.reserve(at, k.bytes(f.Tokens))
	if k.dies() {
		_ = discard(conn, f.Payload/2)
		k.opt.Die()
		return end, errPeerDied
	}
	if err := discard(conn, f.Payload); err != nil {
		return end, err
	}
	named, _ := clock.Parse(k.clock, f.At)
	return max(end, named), nil
}

func discard(r io.Reader, n int) error {
	_, err := io.CopyN(io.Discard, r, int64(n))
	return err
}

// bootstrapHandler tells clients of a prefill server where its KV is: Mooncake's /query and
// SGLang's /route.
func (k *Side) bootstrapHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /query", func(w http.ResponseWriter, _ *http.Request) {
		wire.WriteJSON(w, http.StatusOK, map[string]any{"0": BootstrapEntry{
			EngineID: k.opt.EngineID, Workers: map[string]map[string]string{"0": {"0": "tcp://" + k.address}},
		}})
	})
	mux.HandleFunc("GET /route", func(w http.ResponseWriter, _ *http.Request) {
		host, port, _ := net.SplitHostPort(k.address)
		wire.WriteJSON(w, http.StatusOK, map[string]any{"rank_ip": host, "rank_port": port, "attn_tp_size": 1, "dp_size": 1, "pp_size": 1})
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "OK") })
	return mux
}

type BootstrapEntry struct {
	EngineID string                       `json:"engine_id"`
	Workers  map[string]map[string]string `json:"worker_addr"`
}

// queryBootstrap asks a bootstrap server for the address of its engine.
func (k *Side) queryBootstrap(ctx context.Context, src *source) (string, error) {
	if k.plan.Exchange == kv.ByRoom {
		var route struct {
			IP   string `json:"rank_ip"`
			Port string `json:"rank_port"`
		}
		if err := getJSON(ctx, src.bootstrap+"/route?engine_rank=0&target_dp_group=0&target_pp_rank=0", &route); err != nil {
			return "", fmt.Errorf("%w: Error fetching prefill parallel info from bootstrap: %w", ErrLoad, err)
		}
		return reachable(net.JoinHostPort(route.IP, route.Port), src.bootstrap), nil
	}
	var engines map[string]BootstrapEntry
	if err := getJSON(ctx, src.bootstrap+"/query", &engines); err != nil {
		return "", fmt.Errorf("%w: Timeout waiting for P side ready: %w", ErrLoad, err)
	}
	for _, e := range engines {
		if src.engine == "" || e.EngineID == src.engine {
			return reachable(strings.TrimPrefix(e.Workers["0"]["0"], "tcp://"), src.bootstrap), nil
		}
	}
	return "", fmt.Errorf("%w: no engine %s behind %s", ErrLoad, src.engine, src.bootstrap)
}

// reachable replaces an address that means "all interfaces" by the host of the URL that named it.
func reachable(address, url string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsUnspecified() {
		return address
	}
	named, _, err := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	if err != nil {
		return address
	}
	return net.JoinHostPort(named, port)
}

// getJSON reads a small JSON document.
func getJSON(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	return doJSON(req, into)
}

func doJSON(req *http.Request, into any) error {
	resp, err := httpClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s", req.URL, resp.Status)
	}
	if into != nil {
		err = json.Unmarshal(body, into)
	}
	return err
}

// httpClient keeps no connections: it sends one request per address, to servers that come and go.
var httpClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
