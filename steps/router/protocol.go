package router

import (
	"bytes"
	"errors"
	"fmt"
)

// The protocols.
const (
	RoundRobin = "round_robin"
	V0         = "v0"
	NIXL       = "nixl"
	Mooncake   = "mooncake"
	P2PNCCL    = "p2p_nccl"
	SGLang     = "sglang"
)

// protocol describes how prefill and decode exchange their addresses within one request.
type protocol struct {
	name, doc string
	// pairs is true if prefill and decode are separate; otherwise every server does both.
	pairs bool
	// concurrent sends to both at once; otherwise decode waits for prefill's answer.
	concurrent bool
	// generate is true if SGLang's /generate can be routed.
	generate bool
	// bootstrap and kvAddr are true if the servers must be configured with these in addition to their URLs.
	bootstrap, kvAddr bool
	// answer is true if prefill's answer holds parameters for decode.
	answer bool
	// prepare sets the request to prefill and, in concurrent protocols, to decode.
	prepare func(*Router, *exchange) error
	// handover derives the request to decode from prefill's answer, in the other protocols.
	handover func(*Router, *exchange, []byte) error
}

// protocols lists the supported protocols. Their fields are those that the engines' proxies use.
var protocols = []protocol{
	{
		name: RoundRobin, generate: true,
		doc: "Hands each request to the next server in turn: replicas that prefill and decode, the honest control of a pair with as many GPUs.",
	},
	{
		name: V0, pairs: true, prepare: prepareV0, handover: handoverUnchanged,
		doc: "The protocol of the V0 connectors (PyNccl, Mooncake) and of those that find the KV cache by its content: one token on the " +
			"prefill server, then the same request on the decode server.",
	},
	{
		name: NIXL, pairs: true, answer: true, prepare: prepareNIXL, handover: handoverNIXL,
		doc: "The two-phase protocol of NIXL and LMCache: one token on the prefill server, then the rest on the decode server with the " +
			"transfer parameters from its answer.",
	},
	{
		name: Mooncake, pairs: true, concurrent: true, bootstrap: true, prepare: prepareMooncake,
		doc: "Mooncake's protocol: prefill and decode are sent at once and find each other by a transfer id and the bootstrap server of the " +
			"prefill server.",
	},
	{
		name: P2PNCCL, pairs: true, kvAddr: true, prepare: prepareP2P, handover: handoverUnchanged,
		doc: "The protocol of P2pNcclConnector: the addresses of both servers travel in the request id.",
	},
	{
		name: SGLang, pairs: true, concurrent: true, generate: true, bootstrap: true, prepare: prepareSGLang,
		doc: "SGLang's protocol: prefill and decode are sent at once with the address of the bootstrap server and a room number.",
	},
}

var (
	one       = []byte("1")
	falseJSON = []byte("false")
	nullJSON  = []byte("null")
)

// firstToken returns the request changed to end after the prompt: one token, not streamed. Without a stream a
// failure is a status instead of an event within the stream. min_tokens would contradict the single token.
// max_completion_tokens is valid only for chat; engines that forbid unknown fields would reject it elsewhere.
func (x *exchange) firstToken(more ...edit) []byte {
	edits := []edit{
		{key: "stream", value: falseJSON}, {key: "stream_options", remove: true}, {key: "min_tokens", remove: true},
		{key: "max_tokens", value: one}, {key: "max_completion_tokens", value: one, ifPresent: x.path != pathChat},
	}
	return x.object.edit(append(edits, more...)...)
}

func prepareV0(_ *Router, x *exchange) error {
	x.prefillBody = x.firstToken()
	return nil
}

func handoverUnchanged(_ *Router, x *exchange, _ []byte) error {
	x.decodeBody = x.body
	return nil
}

const transferParams = "kv_transfer_params"

// nixlParams make a prefill server retain its blocks for another server. Without them decode computes the
// prompt again without an error.
var nixlParams = []byte(
	`{"do_remote_decode":true,"do_remote_prefill":false,"remote_engine_id":null,"remote_block_ids":null,"remote_host":null,"remote_port":null}`)

func prepareNIXL(_ *Router, x *exchange) error {
	x.prefillBody = x.firstToken(edit{key: transferParams, value: nixlParams})
	return nil
}

// errNoParams reports that a prefill server's answer holds no parameters for decode.
var errNoParams = errors.New(
	"the answer has no kv_transfer_params, so decode would compute the prompt again; check the KV connector and the role of this server")

func handoverNIXL(r *Router, x *exchange, answer []byte) error {
	o, err := parseObject(answer)
	if err != nil {
		return &failure{class: classBadAnswer, member: x.prefill, err: fmt.Errorf("the answer of prefill is not understood: %w", err)}
	}
	params := o.get(transferParams)
	if len(params) == 0 || bytes.Equal(params, nullJSON) || isEmptyObject(params) {
		if !r.allowRecompute {
			return &failure{class: classNoParams, member: x.prefill, err: errNoParams}
		}
		r.stats.recomputed.Add(1)
		x.decodeBody = x.body
		return nil
	}
	x.decodeBody = x.object.edit(edit{key: transferParams, value: params})
	return nil
}

func isEmptyObject(raw []byte) bool {
	o, err := parseObject(raw)
	return err == nil && len(o.fields) == 0
}

func prepareMooncake(r *Router, x *exchange) error {
	engine, err := r.engineOf(x.ctx, x.prefill)
	if err != nil {
		return err
	}
	// The router generates the transfer ID: a client may use its request ID twice.
	id := "xfer-" + r.uuid()
	x.prefillBody = x.firstToken(edit{key: transferParams, value: toJSON(map[string]any{
		"do_remote_decode": true, "do_remote_prefill": false, "transfer_id": id,
	})})
	x.prefillRank = engine.rank
	x.decodeBody = x.object.edit(edit{key: transferParams, value: toJSON(map[string]any{
		"do_remote_decode": false, "do_remote_prefill": true, "remote_bootstrap_addr": x.prefill.bootstrapURL(), "remote_engine_id": engine.id,
		"transfer_id": id,
	})})
	return nil
}

// prepareP2P writes both addresses into the request ID, where the connector reads them. The connector reads a
// port from the digits after the last colon, so the client's ID is not included.
func prepareP2P(r *Router, x *exchange) error {
	x.id = fmt.Sprintf("___prefill_addr_%s___decode_addr_%s_%016x%016x", x.prefill.KVAddr, x.decode.KVAddr, r.random(), r.random())
	x.prefillBody = x.firstToken()
	return nil
}

// prepareSGLang sends the same to both: the address of the bootstrap server and the room that identifies the
// transfer. A batch has a room for each prompt.
func prepareSGLang(r *Router, x *exchange) error {
	host, port := x.prefill.bootstrapHost(), x.prefill.BootstrapPort
	n, batch, err := x.object.batch()
	if err != nil {
		return &failure{class: classBadRequest, err: err}
	}
	hosts, ports, rooms := []string{host}, []int{port}, []uint64{r.random() >> 1}
	for len(hosts) < n {
		hosts, ports, rooms = append(hosts, host), append(ports, port), append(rooms, r.random()>>1)
	}
	body := x.object.edit(
		edit{key: "bootstrap_host", value: oneOrAll(batch, hosts)},
		edit{key: "bootstrap_port", value: oneOrAll(batch, ports)},
		edit{key: "bootstrap_room", value: oneOrAll(batch, rooms)},
	)
	x.prefillBody, x.decodeBody = body, body
	return nil
}

// oneOrAll returns the list for a batch, or the only element otherwise.
func oneOrAll[T any](batch bool, list []T) []byte {
	if batch {
		return toJSON(list)
	}
	return toJSON(list[0])
}
