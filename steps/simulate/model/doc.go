// Package model is the pure part of the simulator: a modelled GPU under a scheduler with
// continuous batching, whole or chunked prefill, KV blocks, preemption and a prefix cache,
// in virtual time. It opens no socket and reads no clock; the same seed gives the same
// nanoseconds.
//
//	f, err := model.NewFleet(model.FleetSpec{Prefill: nodes, Decode: more})
//	served, err := f.Serve(ctx, traffic)
//
// A [Fleet] runs [Engine]s against each other. An Engine is driven from outside, so that a
// server can drive the same one in real time. A model's size is that of its config.json, of a
// table of well-known models, or of arguments: weights, KV cache, products and bytes of a step
// follow from it by a roofline, over tensor and pipeline parallelism.
package model
