# One model, one prefill and one decode server, and three ways for the KV cache between them: NCCL, TCP, RDMA.
#
#   pipeline run nccl-tcp-rdma.pipeline.hcl
#   pipeline run nccl-tcp-rdma.pipeline.hcl --simulate=virtual

pipeline {
  description = "KV transfer over NCCL, TCP and RDMA"
  timeout     = "6h"
}

# The last releases of vLLM have no NCCL connector any more. 0.11.0 has both P2pNccl and NIXL, so that
# nothing but the transfer differs.
variable "image" {
  type        = string
  description = "Image of all servers, best by its digest."
  default     = "vllm/vllm-openai:v0.11.0"
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

server "vllm" "base" {
  abstract = true # a template: extended, never launched
  image    = var.image
  version  = "0.11.0"
  model    = "Qwen/Qwen2.5-7B-Instruct"
  gpus     = 1

  args = {
    max_model_len = 8192
  }

  container {
    network = "host"
    ipc     = "host"
    volumes = { hf-cache = "/root/.cache/huggingface" }
    devices = ["/dev/infiniband"]
    cap_add = ["IPC_LOCK"]
    ulimits = { memlock = -1, stack = 67108864 }
  }

  ready {
    timeout = "15m"
  }

  simulate {
    profile = "h100"
  }
}

deployment "nccl" {
  kv_transfer "p2p_nccl" {
    transport = "nccl"
  }

  server "vllm" "prefill" {
    extends = server.vllm.base
    role    = "producer"
  }

  server "vllm" "decode" {
    extends = server.vllm.base
    role    = "consumer"
    args    = { gpu_memory_utilization = 0.7 } # leaves room for what arrives
  }

  router "p2p_nccl" {
    prefill = [self.server.prefill]
    decode  = [self.server.decode]
  }
}

deployment "nixl" {
  for_each = { tcp = [], rdma = var.devices }

  kv_transfer "nixl" {
    transport = each.key
    devices   = each.value
  }

  server "vllm" "prefill" {
    extends = server.vllm.base
    role    = "producer"
  }

  server "vllm" "decode" {
    extends = server.vllm.base
    role    = "consumer"
  }

  router "nixl" {
    prefill = [self.server.prefill]
    decode  = [self.server.decode]
  }
}

# The honest control: the same two GPUs as two whole servers.
deployment "replicas" {
  server "vllm" "first" {
    extends = server.vllm.base
  }

  server "vllm" "second" {
    extends = server.vllm.base
  }

  router "round_robin" {
    decode = [self.server.first, self.server.second]
  }
}

locals {
  targets = {
    replicas = deployment.replicas
    nccl     = deployment.nccl
    tcp      = deployment.nixl["tcp"]
    rdma     = deployment.nixl["rdma"]
  }
}

dataset "random" "chat" {
  input_len  = 2048
  output_len = 64
}

benchmark "serving" {
  description = "Long prompts, open loop"

  matrix {
    transport = ["replicas", "nccl", "tcp", "rdma"]
    qps       = [2, 4]
  }

  target  = local.targets[matrix.transport]
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
  axis  = "transport"
  value = "replicas"
}

baseline "paired" "tcp" {
  axis  = "transport"
  value = "tcp"
}

# What a transfer costs and gains beside the same GPUs without one. It guards nothing and does not fail.
gate "worth_it" {
  benchmark     = benchmark.serving
  baseline      = baseline.paired.replicas
  metrics       = [metric.ttft.p50, metric.tpot.p50, metric.e2el.p50]
  margin        = "10%"
  on_regression = "warn"
}

# RDMA that is slower than TCP, or that turns out to be TCP, is a fault of the machine or the image.
gate "rdma" {
  description           = "RDMA is RDMA, and not slower than TCP"
  benchmark             = benchmark.serving
  baseline              = baseline.paired.tcp
  metrics               = [metric.ttft.p50]
  where                 = matrix.transport == "rdma"
  margin                = "5%"
  on_unproven_transport = "fail"
}
