# A prefill server on one node and a decode server on another, before and after a change, as Pods of a
# Kubernetes cluster; the router and the load generator are on a third.
#
#   pipeline plan --launch kubernetes.pipeline.hcl
#   pipeline run kubernetes.pipeline.hcl
#   pipeline run kubernetes.pipeline.hcl --simulate --time-scale 5

pipeline {
  description = "Prefill and decode as Pods of two nodes, base against head"
  timeout     = "8h"

  kubernetes {
    namespace     = "llm-bench"
    image         = var.pipeline_image
    load_node     = 2
    node_selector = { "nvidia.com/gpu.product" = "NVIDIA-H100-80GB-HBM3" }
    tolerations   = ["nvidia.com/gpu"]
    resources     = { "rdma/hca" = "1" }
    secrets       = { HF_TOKEN = "huggingface/token" }
    queue_timeout = "2h"
  }
}

variable "pipeline_image" {
  type        = string
  description = "Image with the program that runs this file as its entrypoint."
  default     = "registry.example/pipeline:v1"
}

variable "images" {
  type        = map(string)
  description = "Images of both sides, best by their digests."

  default = {
    base = "vllm/vllm-openai:v0.10.2"
    head = "vllm/vllm-openai:v0.11.0"
  }
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
    shm_size = "16GiB"
    cap_add  = ["IPC_LOCK"]
    volumes  = { models = "/root/.cache/huggingface" } # a claim of the namespace that has the weights
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
