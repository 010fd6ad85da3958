// Package kv describes how prefill and decode servers of a deployment hand KV caches to
// each other, and the services that some of these ways need:
//
//	kv_transfer "mooncake" {
//	  transport = "rdma"
//	  devices   = ["mlx5_0", "mlx5_1"]
//	}
//
// The blocks are parsed and checked. Nothing runs them yet: each kind says so in its
// Unsupported sentence.
package kv
