# Base against head, from source.yaml (a compose file).
# The source describes no load: dataset and load below are a start. Replace them by your own.
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=IMAGE
#
# 4 parts were not carried over: see the end.

variable "base" {
  description = "Image from before the change."
  default     = "vllm/vllm-openai:v0.10.2"
}

variable "head" {
  description = "Image with the change. The default only holds its place."
  default     = "vllm/vllm-openai:head"
}

variable "rehearsal" {
  description = "With --simulate only: how much slower the head is."
  default     = "0%"
}

variable "model" {
  description = "$MODEL of the source."
  default     = "google/gemma-2-9b-it"
}

variable "hugging_face_hub_token" {
  description = "HUGGING_FACE_HUB_TOKEN: PIPELINE_VAR_hugging_face_hub_token in the environment."
  default     = ""
  sensitive   = true
}

server "vllm" "vllm" {
  for_each = { base = var.base, head = var.head }
  image    = each.value
  model    = var.model
  gpus     = 2

  # Not carried over: stop_grace_period: 1m (see stop_grace of the server)
  # Not carried over: deploy.resources.limits = {"memory":"64g"} (a pipeline file has nothing for it)
  # Not carried over: deploy.replicas = 1 (a pipeline file has nothing for it)
  args = {
    tensor_parallel_size = 2
    max_num_seqs         = 64
    enforce_eager        = true
  }

  env = { HUGGING_FACE_HUB_TOKEN = var.hugging_face_hub_token, NCCL_DEBUG = "WARN" }

  container {
    mounts     = ["./models:/models:ro"]
    volumes    = { cache = "/root/.cache" }
    shm_size   = "16GiB"
    privileged = true
    ulimits    = { nofile = "1024:4096" }
  }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

dataset "random" "chat" {
  input_len  = 512
  output_len = 64
}

benchmark "chat" {
  matrix {
    side = ["base", "head"]
  }

  target  = server.vllm.vllm[matrix.side]
  dataset = dataset.random.chat

  warmup {
    requests = 20
  }

  load {
    rate     = 4
    requests = 200
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
  benchmark = benchmark.chat
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50, metric.e2el.p50]
  margin    = "5%"
}

# Not carried over:
# * the service ui (ghcr.io/open-webui/open-webui:main) (it is not a server that is known)
# * server vllm: stop_grace_period: 1m (see stop_grace of the server)
# * server vllm: deploy.resources.limits = {"memory":"64g"} (a pipeline file has nothing for it)
# * server vllm: deploy.replicas = 1 (a pipeline file has nothing for it)
