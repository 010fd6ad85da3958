package transfer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/wire"
)

// transferParams is kv_transfer_params, the part of a request and an answer that the router passes
// from the prefill server to the decode server.
type transferParams struct {
	DoRemotePrefill bool    `json:"do_remote_prefill"`
	DoRemoteDecode  bool    `json:"do_remote_decode"`
	RemoteBlockIDs  []int32 `json:"remote_block_ids"`
	RemoteEngineID  string  `json:"remote_engine_id"`
	RemoteRequestID string  `json:"remote_request_id,omitempty"`
	RemoteHost      string  `json:"remote_host"`
	RemotePort      int     `json:"remote_port"`
	TPSize          int     `json:"tp_size,omitempty"`
	// Fields of Mooncake.
	TransferID          string `json:"transfer_id,omitempty"`
	RemoteBootstrapAddr string `json:"remote_bootstrap_addr,omitempty"`
}

// Exchange is what one request does with KV besides computing.
type Exchange struct {
	// From is the source of its KV, nil if it is computed here.
	From *source
	// Key under which its KV is held after the prompt, "" for none.
	Key string
	// ByBlocks derives the key from the blocks that hold the KV, and adds kv_transfer_params to the
	// answer.
	ByBlocks bool
	// Hold keeps the blocks until a peer has fetched them.
	Hold bool
}

// BootstrapFields are SGLang's fields in a request.
type BootstrapFields struct {
	Host *string `json:"bootstrap_host"`
	Port *int    `json:"bootstrap_port"`
	Room *uint64 `json:"bootstrap_room"`
}

// Request is the part of a request that determines its exchange.
type Request struct {
	Params    json.RawMessage
	Bootstrap BootstrapFields
}

// ExchangeFor decides what a request does with KV. An error rejects the request.
func (k *Side) ExchangeFor(r Request) (*Exchange, error) {
	switch k.plan.Exchange {
	case kv.ByAnswer, kv.ByTransferID:
		return k.exchangeParams(r)
	case kv.ByRoom:
		return k.exchangeByRoom(r.Bootstrap)
	}
	return nil, nil
}

func (k *Side) exchangeParams(r Request) (*Exchange, error) {
	if len(r.Params) == 0 || string(r.Params) == "null" {
		return nil, nil
	}
	var p transferParams
	if err := json.Unmarshal(r.Params, &p); err != nil {
		return nil, wire.BadRequest("kv_transfer_params: %v", err)
	}
	mooncake := k.plan.Exchange == kv.ByTransferID
	if mooncake && (p.DoRemoteDecode || p.DoRemotePrefill) && p.TransferID == "" {
		k.log.Engine("WARNING", "mooncake_connector.py:432", "Missing transfer_id in kv_transfer_params from router!")
		return nil, nil
	}
	switch {
	case p.DoRemoteDecode && mooncake:
		return &Exchange{Key: p.TransferID, Hold: true}, nil
	case p.DoRemoteDecode:
		return &Exchange{ByBlocks: true, Hold: true}, nil
	case !p.DoRemotePrefill:
		return nil, nil
	case mooncake && p.RemoteBootstrapAddr != "" && p.RemoteEngineID != "":
		url := p.RemoteBootstrapAddr
		if !strings.Contains(url, "://") {
			url = "http://" + url
		}
		return &Exchange{From: &source{bootstrap: strings.TrimSuffix(url, "/"), engine: p.RemoteEngineID, key: p.TransferID, wait: true}}, nil
	case !mooncake && len(p.RemoteBlockIDs) > 0 && p.RemoteEngineID != "" && p.RemoteHost != "" && p.RemotePort > 0:
		return &Exchange{From: &source{address: net.JoinHostPort(p.RemoteHost, strconv.Itoa(p.RemotePort)), engine: p.RemoteEngineID,
			key: BlockKey(p.RemoteBlockIDs)}}, nil
	}
	k.log.Engine("WARNING", "nixl_connector.py:612", "Got invalid KVTransferParams: %s. This request will not utilize KVTransfer", r.Params)
	return nil, nil
}

// BlockKey names held KV by its last block, which no other request shares while it is held.
func BlockKey(blocks []int32) string { return fmt.Sprintf("block-%d", blocks[len(blocks)-1]) }

// Params returns the params of an answer whose KV is held in blocks.
func (k *Side) Params(id string, blocks []int32) any {
	host, port, _ := net.SplitHostPort(k.plan.Listen)
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = cmp.Or(k.plan.Env("VLLM_HOST_IP"), "127.0.0.1")
	}
	n, _ := strconv.Atoi(port)
	return transferParams{DoRemotePrefill: true, RemoteBlockIDs: blocks, RemoteEngineID: k.opt.EngineID, RemoteRequestID: id,
		RemoteHost: host, RemotePort: n, TPSize: k.opt.Config.GPUs}
}

// exchangeByRoom identifies both ends by bootstrap host, port and room.
func (k *Side) exchangeByRoom(b BootstrapFields) (*Exchange, error) {
	if b.Room == nil || b.Host == nil {
		return nil, wire.BadRequest(
			"Disaggregated request received without bootstrap room id. bootstrap_host, bootstrap_port and bootstrap_room are required")
	}
	const fakeHost = "2.2.2.2" // FAKE_BOOTSTRAP_HOST of SGLang's health checks and warm-ups
	room := "room-" + strconv.FormatUint(*b.Room, 10)
	switch {
	case *b.Host == fakeHost:
		if k.plan.Produces {
			return nil, nil
		}
		return &Exchange{From: &source{dummy: true}}, nil
	case k.plan.Produces:
		return &Exchange{Key: room, Hold: true}, nil
	}
	port := 8998
	if b.Port != nil {
		port = *b.Port
	}
	return &Exchange{From: &source{bootstrap: "http://" + net.JoinHostPort(*b.Host, strconv.Itoa(port)), key: room, wait: true}}, nil
}
