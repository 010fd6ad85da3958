// Package kv knows how prefill and decode servers of a deployment hand KV caches to each
// other: what each connector wants of each engine in each release, the services that
// some of them need, and how counters and logs prove what really carried the data.
//
//	kv_transfer "mooncake" {
//	  transport = "rdma"
//	  devices   = ["mlx5_0", "mlx5_1"]
//	}
//
// A connector is one value of a [Table]: its block, what each engine wants of it in each
// release, its library, the lines of a log that prove it, and how the simulator plays it.
// A deployment becomes processes in two steps, because ports are chosen in between:
//
//	layout, err := kv.Connectors().NewLayout(spec) // checked against the engines' versions
//	rendered, err := layout.Render(kv.Assigned{Ports: ports})
//	for _, wave := range layout.Order() { … }
//
// and [Prove] judges what a run left behind.
//
// The package is pure: it opens no socket, starts no process and reads no file. It does
// not render the servers themselves, which the engines do.
package kv
