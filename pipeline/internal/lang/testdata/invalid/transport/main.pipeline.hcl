server "vllm" "base" {
  abstract = true
  image    = "vllm/vllm-openai:v0.11.0"
  model    = "m"
}

deployment "rdma" {
  kv_transfer "mooncake" {
    transport = "rdma"
  }
  server "vllm" "bridge" {
    extends = server.vllm.base
    role    = "producer"
  }
  server "vllm" "host" {
    extends = server.vllm.base
    role    = "consumer"
    container {
      network = "host"
    }
  }
  router "round_robin" {
    decode = [self.server.host]
  }
}

deployment "interface" {
  kv_transfer "mooncake" {
    transport = "rdma"
    devices   = ["eth0"]
  }
  server "vllm" "host" {
    extends = server.vllm.base
    role    = "both"
    container {
      network    = "host"
      privileged = true
    }
  }
}

deployment "tcp" {
  kv_transfer "mooncake" {
    transport = "tcp"
    devices   = ["mlx5_0"]
  }
  server "vllm" "host" {
    extends = server.vllm.base
    role    = "both"
  }
}
