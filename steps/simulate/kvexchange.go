package simulate

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// kvParams is kv_transfer_params, the part of a request and of an answer that the router
// carries from the prefill server to the decode server.
type kvParams struct {
	DoRemotePrefill bool    `json:"do_remote_prefill"`
	DoRemoteDecode  bool    `json:"do_remote_decode"`
	RemoteBlockIDs  []int32 `json:"remote_block_ids"`
	RemoteEngineID  string  `json:"remote_engine_id"`
	RemoteRequestID string  `json:"remote_request_id,omitempty"`
	RemoteHost      string  `json:"remote_host"`
	RemotePort      int     `json:"remote_port"`
	TPSize          int     `json:"tp_size,omitempty"`
	// Mooncake's.
	TransferID          string `json:"transfer_id,omitempty"`
	RemoteBootstrapAddr string `json:"remote_bootstrap_addr,omitempty"`
}

// exchange is what one request does with KV beside computing.
type exchange struct {
	// from where its KV comes, nil if it is computed here.
	from *source
	// key under which its KV is held after the prompt, "" if it is not.
	key string
	// byBlocks makes the key of the blocks that hold it.
	byBlocks bool
	// pushTo is the address that gets it after the prompt, waited for with pushWait.
	pushTo   string
	pushWait bool
	// save it in the shared folder.
	save bool
	// hold the blocks until a peer has taken them.
	hold bool
	// tells that the answer carries kv_transfer_params.
	tells bool
}

// bootstrapFields are SGLang's, beside the request.
type bootstrapFields struct {
	Host *string `json:"bootstrap_host"`
	Port *int    `json:"bootstrap_port"`
	Room *uint64 `json:"bootstrap_room"`
}

// kvRequest is the part of a request that decides on its exchange.
type kvRequest struct {
	params    json.RawMessage
	id        string
	bootstrap bootstrapFields
	prompt    []int
}

// exchangeFor decides what a request does with KV. An error refuses the request.
func (k *kvSide) exchangeFor(r kvRequest) (*exchange, error) {
	switch k.plan.Exchange {
	case kv.ByAnswer, kv.ByTransferID:
		return k.exchangeParams(r)
	case kv.LookupBuffer, kv.ByContent, kv.ByFile:
		return k.exchangeByContent(r)
	case kv.ByRequestID:
		return k.exchangeP2P(r)
	case kv.FromNothing:
		if k.plan.Produces && r.bootstrap.Room != nil && r.bootstrap.Host != nil {
			return nil, nil
		}
		return &exchange{from: &source{dummy: true}}, nil
	case kv.ByRoom:
		return k.exchangeByRoom(r.bootstrap)
	}
	return nil, nil
}

func (k *kvSide) exchangeParams(r kvRequest) (*exchange, error) {
	if len(r.params) == 0 || string(r.params) == "null" {
		return nil, nil
	}
	var p kvParams
	if err := json.Unmarshal(r.params, &p); err != nil {
		return nil, badRequest("kv_transfer_params: %v", err)
	}
	mooncake := k.plan.Exchange == kv.ByTransferID
	if mooncake && (p.DoRemoteDecode || p.DoRemotePrefill) && p.TransferID == "" {
		k.log.core("WARNING", "mooncake_connector.py:432", "Missing transfer_id in kv_transfer_params from router!")
		return nil, nil
	}
	switch {
	case p.DoRemoteDecode && mooncake:
		return &exchange{key: p.TransferID, hold: true}, nil
	case p.DoRemoteDecode:
		return &exchange{byBlocks: true, hold: true, tells: true}, nil
	case !p.DoRemotePrefill:
		return nil, nil
	case mooncake && p.RemoteBootstrapAddr != "" && p.RemoteEngineID != "":
		url := p.RemoteBootstrapAddr
		if !strings.Contains(url, "://") {
			url = "http://" + url
		}
		return &exchange{from: &source{bootstrap: strings.TrimSuffix(url, "/"), engine: p.RemoteEngineID, key: p.TransferID, wait: true}}, nil
	case !mooncake && len(p.RemoteBlockIDs) > 0 && p.RemoteEngineID != "" && p.RemoteHost != "" && p.RemotePort > 0:
		return &exchange{from: &source{address: net.JoinHostPort(p.RemoteHost, strconv.Itoa(p.RemotePort)), engine: p.RemoteEngineID, key: blockKey(p.RemoteBlockIDs)}}, nil
	}
	k.log.core("WARNING", "nixl_connector.py:612", "Got invalid KVTransferParams: %s. This request will not utilize KVTransfer", r.params)
	return nil, nil
}

// blockKey names held KV by its last block, which no other request shares while it is held.
func blockKey(blocks []int32) string { return fmt.Sprintf("block-%d", blocks[len(blocks)-1]) }

// params of an answer whose KV is held in blocks.
func (k *kvSide) params(id string, blocks []int32) any {
	host, port, _ := net.SplitHostPort(k.plan.Listen)
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = orElse(k.plan.Env("VLLM_HOST_IP"), "127.0.0.1")
	}
	n, _ := strconv.Atoi(port)
	return kvParams{DoRemotePrefill: true, RemoteBlockIDs: blocks, RemoteEngineID: k.engineID, RemoteRequestID: id, RemoteHost: host, RemotePort: n, TPSize: k.launch.config.GPUs}
}

// exchangeByContent is for connectors that find KV by the prompt itself.
func (k *kvSide) exchangeByContent(r kvRequest) (*exchange, error) {
	key := contentKey(r.prompt)
	x := &exchange{}
	switch k.plan.Exchange {
	case kv.LookupBuffer:
		if k.plan.Consumes {
			x.from = &source{address: k.plan.Peer, key: key}
			return x, nil
		}
		x.key = key
		return x, nil
	case kv.ByFile:
		x.from, x.save, x.key = &source{file: k.fileOf(key)}, true, key
		return x, nil
	}
	if k.plan.Consumes {
		x.from = &source{address: k.plan.Peer, local: k.plan.Peer == "", key: key}
	}
	if k.plan.Produces {
		x.key, x.pushTo, x.pushWait, x.tells = key, k.plan.Peer, true, true
	}
	return x, nil
}

func contentKey(prompt []int) string {
	h := model.Hash(0, prompt)
	return fmt.Sprintf("%016x-%d", h, len(prompt))
}

// p2pAddresses is how P2pNcclConnector finds both ends, in the request's id.
var p2pAddresses = regexp.MustCompile(`___prefill_addr_([^_]+:\d+)___decode_addr_([^_]+:\d+)`)

func (k *kvSide) exchangeP2P(r kvRequest) (*exchange, error) {
	m := p2pAddresses.FindStringSubmatch(r.id)
	if m == nil {
		return nil, apiError{status: http.StatusInternalServerError, kind: "InternalServerError", message: fmt.Sprintf("Request id %s does not contain hostname and port", r.id)}
	}
	if k.plan.Consumes {
		return &exchange{from: &source{local: true, key: r.id, wait: true}}, nil
	}
	return &exchange{key: r.id, pushTo: m[2]}, nil
}

// exchangeByRoom finds both ends by bootstrap host, port and room.
func (k *kvSide) exchangeByRoom(b bootstrapFields) (*exchange, error) {
	if b.Room == nil || b.Host == nil {
		return nil, badRequest("Disaggregated request received without bootstrap room id. bootstrap_host, bootstrap_port and bootstrap_room are required")
	}
	const fakeHost = "2.2.2.2" // FAKE_BOOTSTRAP_HOST of SGLang's own health checks and warm-ups
	room := "room-" + strconv.FormatUint(*b.Room, 10)
	switch {
	case *b.Host == fakeHost:
		if k.plan.Produces {
			return nil, nil
		}
		return &exchange{from: &source{dummy: true}}, nil
	case k.plan.Produces:
		return &exchange{key: room, hold: true}, nil
	}
	port := 8998
	if b.Port != nil {
		port = *b.Port
	}
	return &exchange{from: &source{bootstrap: "http://" + net.JoinHostPort(*b.Host, strconv.Itoa(port)), key: room, wait: true}}, nil
}
