package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/clock"
	"github.com/servegate/pipeline/steps/simulate/wire"
)

// source says where the KV of a request is.
type source struct {
	// dummy KV is there without a transfer.
	dummy bool
	// local KV has been, or will be, pushed to this server.
	local bool
	// file that holds it.
	file string
	// address of the side that has it, "" where bootstrap or the metadata service has it.
	address string
	// bootstrap is the base URL of a bootstrap server.
	bootstrap string
	// engine that is expected there, "" for any.
	engine string
	key    string
	// wait until it is computed.
	wait bool
}

// Fetch gets up to tokens of KV, from the given time on, and returns how many came and
// when: 0 without an error means that the other side has none. Failures are counted.
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
	switch {
	case src.dummy:
		return tokens, at, nil
	case src.local:
		e, ok := k.store.take(ctx, src.key, src.wait, false)
		if !ok {
			if src.wait {
				return 0, at, fmt.Errorf("%w: nothing came for %s", ErrLoad, src.key)
			}
			return 0, at, nil
		}
		at = max(at, e.since)
		if k.opt.Recompute {
			return 0, at, nil // what came is thrown away
		}
		return min(e.tokens, tokens), at, nil
	case src.file != "":
		return k.fetchFile(at, src.file, tokens)
	}
	address, err := k.locate(ctx, &src)
	if err != nil {
		return 0, at, err
	}
	got, at, err := k.get(ctx, at, address, src, tokens)
	if err == nil && k.plan.Exchange == kv.LookupBuffer {
		k.Received(got > 0, "simple_connector.py:303")
	}
	return got, at, err
}

// locate finds the address of the side that has the KV.
func (k *Side) locate(ctx context.Context, src *source) (string, error) {
	if src.address != "" {
		return src.address, nil
	}
	// Engines ask once and remember.
	name := src.bootstrap + " " + src.engine
	if address, ok := k.known.Load(name); ok {
		return address.(string), nil
	}
	var address string
	var err error
	switch {
	case src.bootstrap != "":
		address, err = k.queryBootstrap(ctx, src)
	case k.plan.Metadata != "":
		address, err = k.lookup(ctx)
	default:
		err = fmt.Errorf("%w: %w", ErrLoad, errNoPeer)
	}
	if err == nil {
		k.known.Store(name, address)
	}
	return address, err
}

// get fetches over a connection to the address, from the given time on.
func (k *Side) get(ctx context.Context, at time.Duration, address string, src source, tokens int) (int, time.Duration, error) {
	if k.opt.Recompute {
		tokens = 0 // lets the other side free its blocks, and takes nothing
	}
	conn, f, err := k.ask(ctx, address, src.engine, frame{Op: "get", Key: src.key, Tokens: tokens, Wait: src.wait, At: clock.Format(k.clock, at)})
	if err != nil {
		return 0, at, err
	}
	defer conn.release()
	switch {
	case f.Op == "miss" && (k.plan.Exchange == kv.LookupBuffer || k.plan.Exchange == kv.ByContent):
		return 0, at, nil
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

// take reads the bytes of a transfer that this side's own NICs are busy with as well, and
// returns when it is over in the model. The bytes may be there a little earlier.
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

// Put pushes the KV of a prompt that was complete at the given time to a peer, and returns
// when it was there.
func (k *Side) Put(at time.Duration, address, key string, tokens int) (time.Duration, error) {
	ctx, cancel := k.bounded(k.ctx)
	defer cancel()
	bytes := k.bytes(tokens)
	t := clock.Span{Start: at, End: k.reserve(at, bytes)}
	conn, f, err := k.ask(ctx, address, "", frame{Op: "put", Key: key, Tokens: tokens, Payload: payloadOf(bytes), At: clock.Format(k.clock, t.End)})
	if err != nil {
		k.counters.failedSend()
		return at, err
	}
	defer conn.release()
	conn.broken = true // until all of it was taken
	if f.Op != "ready" {
		return at, fmt.Errorf("%w: %s does not take it", ErrLoad, address)
	}
	if err := k.send(conn, tokens, t, true); err != nil {
		return at, fmt.Errorf("%w: write to %s: %w", ErrLoad, address, err)
	}
	if f, err = readFrame(conn); err != nil || f.Op != "ok" {
		return at, fmt.Errorf("%w: %s did not take it", ErrLoad, address)
	}
	conn.broken = false
	return t.End, nil
}

// fileOf is the shared file of a prompt's KV.
func (k *Side) fileOf(key string) string {
	return filepath.Join(k.plan.Folder, strings.ReplaceAll(key, "/", "-"), "kv.json")
}

type sharedFile struct {
	Tokens int    `json:"tokens"`
	Compat string `json:"compat"`
}

func (k *Side) fetchFile(at time.Duration, path string, tokens int) (int, time.Duration, error) {
	text, err := os.ReadFile(path)
	var f sharedFile
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil || f.Compat != k.opt.Compat || k.opt.Recompute {
		return 0, at, nil // nothing, or nothing of ours: computed here
	}
	n := min(f.Tokens, tokens)
	end := k.reserve(at, k.bytes(n))
	if err := k.clock.SleepUntil(k.ctx, end); err != nil {
		return 0, at, err
	}
	k.counters.moved(k.bytes(n), end-at)
	return n, end, nil
}

// Save writes the shared file of a prompt that was complete at the given time, and returns
// when it was written.
func (k *Side) Save(at time.Duration, key string, tokens int) (time.Duration, error) {
	path := k.fileOf(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return at, err
	}
	end := k.reserve(at, k.bytes(tokens))
	if err := k.clock.SleepUntil(k.ctx, end); err != nil {
		return at, err
	}
	return end, k.writeFile(path, tokens)
}

// writeFile writes it whole: another server may look for it meanwhile.
func (k *Side) writeFile(path string, tokens int) error {
	text, err := json.Marshal(sharedFile{Tokens: tokens, Compat: k.opt.Compat})
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".kv-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// bootstrapHandler answers who asks a prefill server where its KV is: Mooncake's /query
// and SGLang's /route.
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

// queryBootstrap asks a bootstrap server for the address of the engine behind it.
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

// reachable replaces an address that means "every interface" by the host of the URL that named it.
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

// httpClient keeps no connections: these are asked for once per request, by servers that come and go.
var httpClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

var errNoPeer = errors.New("no peer is known")
