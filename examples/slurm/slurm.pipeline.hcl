# A prefill server on one node and a decode server on another, before and after a change, on a Slurm cluster:
# two repeats at a time, each with its sides on two nodes of its own.
#
#   pipeline plan --launch slurm.pipeline.hcl
#   pipeline run slurm.pipeline.hcl
#   pipeline run slurm.pipeline.hcl --simulate --time-scale 5

pipeline {
  description = "Prefill and decode on two nodes, base against head"
  timeout     = "8h"

  slurm {
    partition     = var.partition
    account       = var.account
    constraint    = "h100&ib"
    nodes         = 4
    gpus_per_node = 8
    time          = "6h"
    queue_timeout = "12h"
    runtime       = "pyxis"
    side_by_side  = true # two nodes take part in a repeat, so two repeats run at a time
  }
}

variable "partition" {
  type        = string
  description = "Partition of the cluster."
  default     = "gpu"
}

variable "account" {
  type        = string
  description = "Account that the job is charged to; the user's default unless set."
  default     = null
}

variable "images" {
  type        = map(string)
  description = "Images of both sides, best by their digests. A squash file is named by its path, which all nodes must see."

  default = {
    base = "vllm/vllm-openai:v0.10.2"
    head = "vllm/vllm-openai:v0.11.0"
  }
}

variable "models" {
  type        = string
  description = "Folder with the models, on a file system that all nodes share."
  default     = "/shared/models"
}

server "vllm" "member" {
  abstract = true
  version  = "0.11.0"
  model    = "Qwen/Qwen2.5-72B-Instruct"
  gpus     = 8

  args = {
    tensor_parallel_size = 8
    max_model_len        = 16384
  }

  env = {
    NCCL_IB_HCA = "mlx5"
  }

  container {
    ipc    = "host" # as the cluster's runtime has it anyway
    mounts = ["${var.models}:/root/.cache/huggingface"]
  }

  ready {
    timeout = "30m"
  }

  simulate {
    profile = "h100"
  }
}

deployment "pd" {
  for_each = var.images

  kv_transfer "nixl" {
    transport = "rdma"
    devices   = ["mlx5_0"]
  }

  server "vllm" "prefill" {
    extends = server.vllm.member
    image   = each.value
    role    = "producer"
    node    = 0
  }

  server "vllm" "decode" {
    extends = server.vllm.member
    image   = each.value
    role    = "consumer"
    node    = 1
  }

  router "nixl" {
    prefill = [self.server.prefill]
    decode  = [self.server.decode]
  }
}

dataset "random" "documents" {
  input_len  = 4096
  output_len = 128
}

benchmark "serving" {
  description = "Long prompts, open loop"

  matrix {
    side = ["base", "head"]
    qps  = [1, 2]
  }

  target  = deployment.pd[matrix.side]
  dataset = dataset.random.documents

  load {
    arrival  = "poisson"
    rate     = matrix.qps
    requests = 200
  }

  warmup {
    requests = 8
  }

  repeat {
    min = 4
    max = 8
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "latency" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50, metric.e2el.p50]
  margin    = "5%"
}
