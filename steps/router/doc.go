// Package router implements the router before the prefill and decode servers of a deployment,
// and describes its blocks:
//
//	router "nixl" {
//	  prefill = [self.server.prefill]
//	  decode  = [self.server.decode]
//	}
//
// A router is part of the system under test: every token passes through it. This router
// measures the latency that it adds ([Router.Stats]), forwards every chunk unparsed and
// without delay, and does not retry failed requests, so that every failure is counted.
//
//	r, err := router.New(router.Config{
//		Protocol: router.NIXL,
//		Prefill:  []router.Backend{{Name: "prefill", URL: "http://127.0.0.1:8100"}},
//		Decode:   []router.Backend{{Name: "decode", URL: "http://127.0.0.1:8200"}},
//	})
//	// start the clients
//	err = r.Serve(ctx, listener)
//
// # Pairs
//
// Requests go to the servers in turn. With P prefill and D decode servers, each of
// P·D consecutive requests gets another pair, so that as many warm-up requests open every
// connection. Answers name their pair in the headers X-Router-Prefill and X-Router-Decode.
// A dead server stays in the rotation: its share of the requests fails.
//
// # Limits
//
// The router cannot detect whether decode uses the transfer parameters of a prefill server;
// the engines' counters can. If an answer has no such parameters, decode computes the
// prompt again. This is an error unless [Config.AllowRecompute] is set. A vLLM prefill
// server also omits them if the first token ends the answer; benchmarks set ignore_eos.
//
// The servers of p2p_nccl announce themselves to a proxy over ZMQ every three seconds. This
// router takes their addresses from its configuration and does not listen for these pings.
// ZMQ queues them in the engine, in a thread that does not block other work.
package router
