server "vllm" "base" {
  abstract   = true
  executable = "vllm"
  model      = "m"
}

deployment "empty" {
}

deployment "pair" {
  server "vllm" "prefill" {
    extends = server.vllm.base
    role    = "produer"
  }

  server "vllm" "decode" {
    extends = server.vllm.base
  }

  server "vllm" "decode" {
    extends = server.vllm.base
  }

  service "etcd" {
  }

  service "etcd" {
  }

  kv_transfer "mooncake" {
    transport = "rmda"
    buffer    = "5 gigs"
  }

  router "round_robin" {
    prefill = [self.server.prefil]
    decode  = [server.vllm.base.model]
  }
}
