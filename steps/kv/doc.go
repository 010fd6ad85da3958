// Package kv describes how prefill and decode servers of a deployment hand over KV caches. It covers the
// configuration of each connector by engine and release, the services that connectors need, and the proof, from
// counters and logs, of what moved the data.
//
//	kv_transfer "mooncake" {
//	  transport = "rdma"
//	  devices   = ["mlx5_0", "mlx5_1"]
//	}
//
// A connector is one value of a [Table]: its block, its configuration by engine and release, its library, the
// log lines that prove it, and how the simulator plays it. A deployment becomes processes in two steps, because
// ports are chosen in between:
//
//	layout, err := kv.Connectors().NewLayout(spec) // checked against the engines' versions
//	rendered, err := layout.Render(kv.Assigned{Ports: ports})
//	for _, wave := range layout.Order() { ... }
//
// [Prove] judges the evidence of a run.
//
// The package is pure: it opens no socket, starts no process and reads no file. The engines render the servers
// themselves.
package kv
