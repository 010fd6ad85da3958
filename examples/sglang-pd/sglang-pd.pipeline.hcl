# SGLang with prefill and decode apart, over its transfer backends, beside two whole servers.
#
#   pipeline run sglang-pd.pipeline.hcl
#   pipeline run sglang-pd.pipeline.hcl --simulate

pipeline {
  description = "SGLang: prefill and decode apart"
  timeout     = "6h"
}

variable "image" {
  type        = string
  description = "Image of all servers, best by its digest."
  default     = "lmsysorg/sglang:v0.5.5"
}

variable "devices" {
  type        = list(string)
  description = "RDMA devices to use."
  default     = ["mlx5_0"]
}

variable "repeats" {
  type        = number
  description = "Launches of each side."
  default     = 4
}

server "sglang" "base" {
  abstract = true # a template: extended, never launched
  image    = var.image
  version  = "0.5.5"
  model    = "Qwen/Qwen2.5-7B-Instruct"
  gpus     = 1

  args = {
    context_length = 8192
    enable_metrics = true # the proof of the transfer comes from there
  }

  container {
    network  = "host"
    ipc      = "host"
    shm_size = "16GiB"
    volumes  = { hf-cache = "/root/.cache/huggingface" }
    devices  = ["/dev/infiniband"]
    cap_add  = ["IPC_LOCK"]
    ulimits  = { memlock = -1, stack = 67108864 }
  }

  ready {
    timeout = "15m"
  }

  simulate {
    profile = "h100"
  }
}

deployment "mooncake" {
  for_each = { rdma = var.devices, tcp = [] }

  kv_transfer "mooncake" {
    transport = each.key
    devices   = each.value
  }

  server "sglang" "prefill" {
    extends = server.sglang.base
    role    = "producer"
  }

  server "sglang" "decode" {
    extends = server.sglang.base
    role    = "consumer"
  }

  router "sglang" {
    prefill = [self.server.prefill]
    decode  = [self.server.decode]
  }
}

deployment "nixl" {
  kv_transfer "nixl" {
    transport = "rdma"
    devices   = var.devices
  }

  server "sglang" "prefill" {
    extends = server.sglang.base
    role    = "producer"
  }

  server "sglang" "decode" {
    extends = server.sglang.base
    role    = "consumer"
  }

  router "sglang" {
    prefill = [self.server.prefill]
    decode  = [self.server.decode]
  }
}

# The honest control: the same two GPUs as two whole servers.
deployment "replicas" {
  server "sglang" "first" {
    extends = server.sglang.base
  }

  server "sglang" "second" {
    extends = server.sglang.base
  }

  router "round_robin" {
    decode = [self.server.first, self.server.second]
  }
}

locals {
  targets = {
    replicas      = deployment.replicas
    mooncake_rdma = deployment.mooncake["rdma"]
    mooncake_tcp  = deployment.mooncake["tcp"]
    nixl_rdma     = deployment.nixl
  }
}

dataset "random" "chat" {
  input_len  = 2048
  output_len = 64
}

benchmark "serving" {
  description = "Long prompts, open loop"

  matrix {
    backend = ["replicas", "mooncake_rdma", "mooncake_tcp", "nixl_rdma"]
    qps     = [4]
  }

  target  = local.targets[matrix.backend]
  dataset = dataset.random.chat

  load {
    arrival  = "poisson"
    rate     = matrix.qps
    requests = 100
  }

  warmup {
    requests = 8
  }

  repeat {
    min = var.repeats
    max = var.repeats
  }
}

baseline "paired" "replicas" {
  axis  = "backend"
  value = "replicas"
}

# It describes and guards nothing: what is slower than two whole servers is shown and does not fail.
gate "against_replicas" {
  benchmark     = benchmark.serving
  baseline      = baseline.paired.replicas
  metrics       = [metric.ttft.p50, metric.tpot.p50, metric.e2el.p50]
  margin        = "10%"
  on_regression = "warn"
}
