// Package model is the part of the simulator without I/O: a modelled GPU and a scheduler with
// continuous batching, whole or chunked prefill, KV blocks, preemption and a prefix cache,
// in virtual time. It uses neither sockets nor clocks; results are exactly reproducible from
// the seed.
//
//	f, err := model.NewFleet(model.FleetSpec{Prefill: nodes, Decode: more})
//	served, err := f.Serve(ctx, traffic)
//
// A [Fleet] drives several [Engine]s in virtual time. A server can drive an Engine in real time.
// A model's size comes from its config.json, a table of well-known models, or arguments. A
// roofline derives weights, KV cache, products and bytes of a step from it, with tensor and
// pipeline parallelism.
package model
