package router_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps/router"
	"github.com/servegate/pipeline/steps/stamp"
)

const (
	uuidOf12 = "00000000-0000-4001-8000-000000000002" // of the "random" numbers 1 and 2
	kvParams = `{"do_remote_prefill":true,"remote_block_ids":[[1,2,12345678901234567890]],"remote_engine_id":"e-1","remote_host":"10.0.0.1","remote_port":5600}`
)

// TestProtocols checks all that the servers get in each protocol, byte by byte.
func TestProtocols(t *testing.T) {
	const params = `"kv_transfer_params":`
	const nixlAsk = params +
		`{"do_remote_decode":true,"do_remote_prefill":false,"remote_engine_id":null,"remote_block_ids":null,"remote_host":null,"remote_port":null}`
	const full = `{"model":"m", "prompt":[1,2,3],"max_tokens":64,"min_tokens":64,"stream":true,"stream_options":{"include_usage":true},"temperature":0.10,"big":12345678901234567890}`
	const kept = `"model":"m","prompt":[1,2,3],"temperature":0.10,"big":12345678901234567890`
	const first = `{` + kept + `,"stream":false,"max_tokens":1`
	for name, tt := range map[string]struct {
		protocol, path, body            string
		header                          map[string]string
		prefill, decode                 string // bodies, BOOT and PORT filled in
		prefillID, decodeID, prefillTag string
	}{
		"round_robin":                {protocol: router.RoundRobin, path: "/v1/completions", body: full, decode: full, decodeID: uuidOf12},
		"round_robin takes anything": {protocol: router.RoundRobin, path: "/generate", body: "{,", decode: "{,", decodeID: uuidOf12},
		"v0": {
			protocol: router.V0, path: "/v1/completions", body: full, prefill: first + `}`, decode: full,
			prefillID: uuidOf12, decodeID: uuidOf12,
		},
		"v0, the client's id": {
			protocol: router.V0, path: "/v1/completions", body: full, header: map[string]string{"X-Request-Id": "mine"},
			prefill: first + `}`, decode: full, prefillID: "mine", decodeID: "mine",
		},
		"nixl": {
			protocol: router.NIXL, path: "/v1/completions", body: full, prefillID: uuidOf12, decodeID: uuidOf12,
			prefill: first + `,` + nixlAsk + `}`,
			decode:  strings.TrimSuffix(strings.Replace(full, `"m", `, `"m",`, 1), "}") + `,` + params + kvParams + `}`,
		},
		"nixl, chat, parameters of the client give way": {
			protocol: router.NIXL, path: "/v1/chat/completions", body: `{"messages":[],"max_completion_tokens":9,"kv_transfer_params":{"x":1}}`,
			prefillID: uuidOf12, decodeID: uuidOf12,
			prefill: `{"messages":[],"stream":false,"max_tokens":1,"max_completion_tokens":1,` + nixlAsk + `}`,
			decode:  `{"messages":[],"max_completion_tokens":9,` + params + kvParams + `}`,
		},
		"mooncake": {
			protocol: router.Mooncake, path: "/v1/completions", body: full, header: map[string]string{"X-Request-Id": "twice"},
			prefillID: "twice", decodeID: "twice", prefillTag: "0",
			prefill: first + `,` + params + `{"do_remote_decode":true,"do_remote_prefill":false,"transfer_id":"xfer-` + uuidOf12 + `"}}`,
			decode: strings.TrimSuffix(strings.Replace(full, `"m", `, `"m",`, 1), "}") + `,` + params +
				`{"do_remote_decode":false,"do_remote_prefill":true,"remote_bootstrap_addr":"http://127.0.0.1:BOOT","remote_engine_id":"engine \"0\"","transfer_id":"xfer-` + uuidOf12 + `"}}`,
		},
		"p2p_nccl": {
			protocol: router.P2PNCCL, path: "/v1/completions", body: full, header: map[string]string{"X-Request-Id": "mine"},
			prefill: first + `}`, decode: full,
			prefillID: "___prefill_addr_10.0.0.1:21001___decode_addr_10.0.0.2:22001_00000000000000010000000000000002",
			decodeID:  "___prefill_addr_10.0.0.1:21001___decode_addr_10.0.0.2:22001_00000000000000010000000000000002",
		},
		"sglang": {
			protocol: router.SGLang, path: "/generate", body: `{"input_ids":[1,2],"bootstrap_room":7,"rid":"a"}`,
			header:    map[string]string{"X-Request-Id": "mine"},
			prefillID: "mine", decodeID: "mine",
			prefill: `{"input_ids":[1,2],"rid":"a","bootstrap_host":"127.0.0.1","bootstrap_port":BOOT,"bootstrap_room":0}`,
			decode:  `{"input_ids":[1,2],"rid":"a","bootstrap_host":"127.0.0.1","bootstrap_port":BOOT,"bootstrap_room":0}`,
		},
		"sglang, a batch": {
			protocol: router.SGLang, path: "/v1/completions", body: `{"prompt":["a","b]", "c"]}`, prefillID: uuidOf12, decodeID: uuidOf12,
			prefill: `{"prompt":["a","b]", "c"],"bootstrap_host":["127.0.0.1","127.0.0.1","127.0.0.1"],"bootstrap_port":[BOOT,BOOT,BOOT],"bootstrap_room":[1,2,2]}`,
			decode:  `{"prompt":["a","b]", "c"],"bootstrap_host":["127.0.0.1","127.0.0.1","127.0.0.1"],"bootstrap_port":[BOOT,BOOT,BOOT],"bootstrap_room":[1,2,2]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			boot := newFake(t, answer(200, `{"0":{"engine_id":"engine \"0\"","worker_addr":{}}}`))
			asked := make(chan struct{}, 1)
			p := newFake(t, func(w http.ResponseWriter, req *http.Request) {
				asked <- struct{}{}
				answer(200, `{"id":"x","kv_transfer_params": `+kvParams+`}`)(w, req)
			})
			d := newFake(t, answer(200, `{"choices":[]}`))
			c := router.Config{Protocol: tt.protocol}
			c.Prefill, c.Decode = backends(p, d, boot.port(t))
			if tt.protocol == router.RoundRobin {
				c.Prefill = nil
			}
			_, base := start(t, c)
			resp, body := post(t, base, tt.path+"?q=1", tt.body, tt.header)
			if resp.StatusCode != 200 || body != `{"choices":[]}` || resp.Header.Get("X-Router-Decode") != "d" {
				t.Fatalf("answer %d %q %v", resp.StatusCode, body, resp.Header)
			}
			if tt.protocol != router.RoundRobin {
				<-asked // decode may answer first
			}
			fill := func(s string) string { return strings.ReplaceAll(s, "BOOT", fmt.Sprint(boot.port(t))) }
			check := func(who string, got received, body, id, rank string) {
				t.Helper()
				want := received{method: "POST", path: tt.path, query: "q=1", body: fill(body)}
				gotID, gotRank := got.header.Get("X-Request-Id"), got.header.Get("X-Data-Parallel-Rank")
				got.header = nil
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(received{})); diff != "" {
					t.Errorf("%s got (-want +got):\n%s", who, diff)
				}
				if gotID != id || gotRank != rank {
					t.Errorf("%s got id %q and rank %q, want %q and %q", who, gotID, gotRank, id, rank)
				}
			}
			check("decode", d.only(t), tt.decode, tt.decodeID, "")
			if tt.protocol != router.RoundRobin {
				check("prefill", p.only(t), tt.prefill, tt.prefillID, tt.prefillTag)
			}
			if tt.protocol == router.Mooncake && boot.only(t).path != "/query" {
				t.Errorf("the bootstrap server got %v", boot.requests())
			}
		})
	}
}

// TestRoomsAre63Bit holds the range that SGLang draws rooms from.
func TestRoomsAre63Bit(t *testing.T) {
	p, d := newFake(t, answer(200, "{}")), newFake(t, answer(200, "{}"))
	c := router.Config{Protocol: router.SGLang, Random: func() uint64 { return 1<<64 - 1 }}
	c.Prefill, c.Decode = backends(p, d, 8998)
	_, base := start(t, c)
	post(t, base, "/generate", `{"text":"a"}`, nil)
	var v struct {
		Room json.Number `json:"bootstrap_room"`
	}
	if err := json.Unmarshal([]byte(d.only(t).body), &v); err != nil || v.Room != "9223372036854775807" {
		t.Errorf("room %s, %v", v.Room, err)
	}
}

// TestMooncakeTakesRanksInTurn asks the bootstrap server once, and uses every rank.
func TestMooncakeTakesRanksInTurn(t *testing.T) {
	boot := newFake(t, answer(200, `{"1":{"engine_id":"e1"},"0":{"engine_id":"e0"}}`))
	p, d := newFake(t, answer(200, "{}")), newFake(t, answer(200, "{}"))
	c := router.Config{Protocol: router.Mooncake}
	c.Prefill, c.Decode = backends(p, d, boot.port(t))
	r, base := start(t, c)
	for range 3 {
		post(t, base, "/v1/completions", `{}`, nil)
	}
	r.Close()
	boot.only(t)
	for i, got := range d.requests() {
		if want := fmt.Sprintf(`"remote_engine_id":"e%d"`, i%2); !strings.Contains(got.body, want) {
			t.Errorf("request %d has no %s: %s", i, want, got.body)
		}
	}
}

// TestPairsAreMetInTurn wants every pair among any P·D requests in a row.
func TestPairsAreMetInTurn(t *testing.T) {
	for p := 1; p <= 4; p++ {
		for d := 1; d <= 4; d++ {
			var last [][2]int
			for k := range 5 * p * d {
				a, b := router.Turn(uint64(k), p, d)
				last = append(last, [2]int{a, b})
				if len(last) < p*d {
					continue
				}
				seen := map[[2]int]bool{}
				for _, pair := range last[len(last)-p*d:] {
					seen[pair] = true
				}
				if len(seen) != p*d {
					t.Fatalf("%d × %d: %v misses a pair", p, d, last[len(last)-p*d:])
				}
			}
		}
	}
}

func TestHeadersPass(t *testing.T) {
	p := newFake(t, answer(200, `{"kv_transfer_params":`+kvParams+`}`))
	d := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "X-Private")
		w.Header().Set("X-Private", "hop")
		w.Header().Set("X-Engine", "kept")
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("short and stout"))
	})
	c := router.Config{Protocol: router.NIXL}
	c.Prefill, c.Decode = backends(p, d, 0)
	r, base := start(t, c)
	resp, body := post(t, base, "/v1/completions", `{}`, map[string]string{
		"Authorization": "Bearer k", "Connection": "X-Hop", "X-Hop": "1", "Te": "trailers", "Traceparent": "00-1", "Accept-Encoding": "gzip",
	})
	if resp.StatusCode != http.StatusTeapot || body != "short and stout" || resp.Header.Get("X-Engine") != "kept" ||
		resp.Header.Get("X-Private") != "" {
		t.Errorf("answer %d %q %v", resp.StatusCode, body, resp.Header)
	}
	for name, f := range map[string]*fake{"p": p, "d": d} {
		h := f.only(t).header
		if h.Get("Authorization") != "Bearer k" || h.Get("Traceparent") != "00-1" || h.Get("X-Hop") != "" || h.Get("Te") != "" {
			t.Errorf("%s got %v", name, h)
		}
		if gzip := h.Get("Accept-Encoding") != ""; gzip != (name == "d") {
			t.Errorf("%s: Accept-Encoding %q", name, h.Get("Accept-Encoding"))
		}
	}
	r.Close()
	if got := failures(r); got != "d/status=1" {
		t.Errorf("failures %q", got)
	}
}

// TestSimulatedServersAreToldTheTime: with Simulated, prefill learns when the request came
// and decode when prefill was done; without it, neither learns anything.
func TestSimulatedServersAreToldTheTime(t *testing.T) {
	for _, simulated := range []bool{true, false} {
		prefill := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(stamp.Header, "prefill is done")
			fmt.Fprint(w, `{}`)
		})
		decode := newFake(t, answer(http.StatusOK, "data: [DONE]\n\n"))
		c := router.Config{Protocol: router.V0, Simulated: simulated}
		c.Prefill, c.Decode = backends(prefill, decode, 0)
		_, base := start(t, c)
		before := stamp.Now()
		post(t, base, "/v1/completions", `{"prompt":"x"}`, nil)
		first, second := prefill.only(t).header.Get(stamp.Header), decode.only(t).header.Get(stamp.Header)
		came, stamped := stamp.Parse(first)
		if stamped != simulated || simulated && (came < before || came > stamp.Now()) || !simulated && first != "" {
			t.Errorf("simulated %v: prefill hears %q", simulated, first)
		}
		if want := map[bool]string{true: "prefill is done"}[simulated]; second != want {
			t.Errorf("simulated %v: decode hears %q, want %q", simulated, second, want)
		}
	}
}
