# Mooncake's published measurement of disaggregated prefill on two A10, with the control that it lacks:
# two whole replicas, the same number of GPUs without any transfer.
#
#   pipeline run mooncake-a10.pipeline.hcl --var address=192.168.0.137
#   pipeline run mooncake-a10.pipeline.hcl --simulate=virtual

pipeline {
  description = "Mooncake on A10: one server, chunked prefill, prefill/decode over RDMA and TCP, replicas"
  timeout     = "12h"
}

variable "address" {
  type        = string
  description = "Address of this machine that both servers can reach."
  default     = "127.0.0.1"
}

variable "repeats" {
  type        = number
  description = "Launches of each backend."
  default     = 4
}

# No image has the transfer engine of that time, so one is built.
step "exec" "image" {
  command = ["docker", "build", "--quiet", "--tag", "vllm-mooncake:v0.6.5", "."]
  timeout = "30m"
  cache   = sha256(file("Dockerfile"))
}

server "vllm" "a10" {
  abstract   = true # a template: extended, never launched
  image      = "vllm-mooncake:v0.6.5"
  version    = "0.6.5"
  model      = "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4"
  gpus       = 1
  depends_on = [step.exec.image]

  args = {
    max_model_len          = 10000
    gpu_memory_utilization = 0.8
  }

  container {
    network = "host"
    ipc     = "host"
    pull    = "never"
    volumes = { hf-cache = "/root/.cache/huggingface" }
    devices = ["/dev/infiniband"]
    cap_add = ["IPC_LOCK"]
    ulimits = { memlock = -1, stack = 67108864 }
  }

  ready {
    timeout = "10m"
  }

  simulate {
    profile = "a10"
    version = "0.6.4" # what the measurement was made with
  }
}

deployment "one" {
  for_each = { single = false, chunked = true }

  server "vllm" "main" {
    extends = server.vllm.a10
    args    = { enable_chunked_prefill = each.value }
  }
}

deployment "disaggregated" {
  for_each = {
    rdma  = { transport = "rdma", devices = ["erdma_0"] }
    rdma2 = { transport = "rdma", devices = ["erdma_0", "erdma_1"] }
    tcp   = { transport = "tcp", devices = [] }
  }

  service "etcd" {
    image = "quay.io/coreos/etcd:v3.5.17"
  }

  kv_transfer "mooncake" {
    transport = each.value.transport
    devices   = each.value.devices
    buffer    = "2GB"
  }

  server "vllm" "prefill" {
    extends = server.vllm.a10
    role    = "producer"
  }

  server "vllm" "decode" {
    extends = server.vllm.a10
    role    = "consumer"
  }

  router "v0" {
    prefill = [self.server.prefill]
    decode  = [self.server.decode]
  }
}

# The honest control: what do the same two GPUs do without any transfer?
deployment "replicas" {
  server "vllm" "first" {
    extends = server.vllm.a10
  }

  server "vllm" "second" {
    extends = server.vllm.a10
  }

  router "round_robin" {
    decode = [self.server.first, self.server.second]
  }
}

locals {
  backends = {
    single   = deployment.one["single"]
    chunked  = deployment.one["chunked"]
    rdma     = deployment.disaggregated["rdma"]
    rdma2    = deployment.disaggregated["rdma2"]
    tcp      = deployment.disaggregated["tcp"]
    replicas = deployment.replicas
  }
}

dataset "sonnet" "sonnet" {
  prefix_len = 50
  output_len = 6
}

benchmark "serving" {
  description = "Short answers to sonnets, open loop"

  matrix {
    backend = ["single", "chunked", "rdma", "rdma2", "tcp", "replicas"]
    # The published 1,024 and 256 as they came out: there a prompt ended with the last line that fitted.
    input_len = [1011, 245]
    qps       = [2, 4, 6, 8]

    exclude {
      when = matrix.input_len == 1011 && matrix.qps > 2
    }
  }

  target    = local.backends[matrix.backend]
  dataset   = dataset.sonnet.sonnet
  input_len = matrix.input_len

  load {
    arrival  = "poisson"
    rate     = matrix.qps
    requests = 200
  }

  warmup {
    requests = 10
  }

  repeat {
    min = var.repeats
    max = var.repeats
  }
}

baseline "paired" "one_server" {
  axis  = "backend"
  value = "single"
}

baseline "paired" "equal_gpus" {
  axis  = "backend"
  value = "replicas"
}

# This file describes an experiment and guards nothing: what it finds is shown and does not fail.
gate "against_one_server" {
  description   = "What the published tables compare"
  benchmark     = benchmark.serving
  baseline      = baseline.paired.one_server
  metrics       = [metric.ttft.p50, metric.tpot.p50]
  margin        = "10%"
  on_regression = "warn"
}

gate "against_equal_gpus" {
  description   = "What two GPUs do without a transfer"
  benchmark     = benchmark.serving
  baseline      = baseline.paired.equal_gpus
  metrics       = [metric.ttft.p50, metric.tpot.p50]
  where         = contains(["rdma", "rdma2", "tcp"], matrix.backend)
  margin        = "10%"
  on_regression = "warn"
}
