# Arguments of a run on a Slurm cluster, and of deployments.
pipeline {
  slurm {
    partition     = "gpu"
    nodes         = 3
    gpus_per_node = 1
    exclusive     = false
    extra_args    = ["--qos=high"]
    load_node     = 2
  }
}

step "exec" "model" {
  command = ["./fetch.sh"]
}

deployment "pd" {
  depends_on = [step.exec.model]

  server "vllm" "prefill" {
    role       = "producer"
    executable = "vllm"
    model      = "Qwen/Qwen2.5-7B-Instruct"
    gpus       = 1
    port       = 8100
    dir        = "prefill"
    api_key    = "secret"
    stop_grace = "1m"
  }

  server "vllm" "decode" {
    role       = "consumer"
    node       = 1
    executable = "vllm"
    model      = "Qwen/Qwen2.5-7B-Instruct"
    gpus       = 1
    port       = 8200
    api_key    = "secret"
  }

  service "mooncake_master" "store" {
    executable   = "mooncake_master"
    args         = { eviction_high_watermark_ratio = 0.9 }
    env          = { MC_LOG_LEVEL = "1" }
    port         = 50051
    metrics_port = 9003
  }

  kv_transfer "nixl" "link" {
    transport = "tcp"
    mode      = "push"
  }

  router "nixl" "front" {
    port    = 8000
    prefill = [self.server.prefill]
    decode  = [self.server.decode]
  }
}

deployment "own" {
  server "vllm" "prefill" {
    executable = "vllm"
    model      = "Qwen/Qwen2.5-7B-Instruct"
    gpus       = 1
  }

  server "vllm" "decode" {
    node       = 1
    executable = "vllm"
    model      = "Qwen/Qwen2.5-7B-Instruct"
    gpus       = 1
  }

  kv_transfer "custom" "link" {
    connector   = "MyConnector"
    module_path = "my_package.connector"
    role        = "both"
    env         = { MY_PORT = "5557" }
  }

  router "round_robin" "front" {
    decode = [self.server.prefill, self.server.decode]
  }
}
