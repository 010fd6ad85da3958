// Package router is the router that stands before the prefill and decode servers of a
// deployment, and describes its blocks:
//
//	router "nixl" {
//	  prefill = [self.server.prefill]
//	  decode  = [self.server.decode]
//	}
//
// A router is part of the system under test: every token passes through it. So this one
// measures what it adds ([Router.Stats]), passes every chunk on as it comes without looking
// into it, and never tries a failed request again, so that failures are counted as what
// they are.
//
//	r, err := router.New(router.Config{
//		Protocol: router.NIXL,
//		Prefill:  []router.Backend{{Name: "prefill", URL: "http://127.0.0.1:8100"}},
//		Decode:   []router.Backend{{Name: "decode", URL: "http://127.0.0.1:8200"}},
//	})
//	…
//	err = r.Serve(ctx, listener)
//
// # Pairs
//
// Requests go to the servers in turn. With P prefill and D decode servers, each of any P·D
// requests in a row gets another pair, so that as many warm-up requests open every
// connection. Answers name their pair in the headers X-Router-Prefill and X-Router-Decode.
// A server that is dead keeps its turns: its share of the requests fails.
//
// # What it cannot know
//
// That a prefill server handed out the parameters of a transfer does not mean that decode
// used them; counters of the engines prove that, not the router. Only an answer without
// such parameters is certain to make decode compute the prompt again, and is an error
// unless [Config.AllowRecompute] is set. A vLLM prefill server leaves them out, too, where
// the very first token ends the answer; benchmarks set ignore_eos.
//
// The servers of p2p_nccl announce themselves to a proxy over ZMQ every three seconds. This
// router takes their addresses from its configuration and does not listen for these pings:
// ZMQ keeps them on the engine's side, from a thread that nothing waits for.
package router
