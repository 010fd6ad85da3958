# Base against head, from source.yaml (a Kubernetes manifest).
# The source describes no load: dataset and load below are a start. Replace them by your own.
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=IMAGE
#
# 9 parts were not carried over: see the end.

variable "base" {
  description = "Image from before the change."
  default     = "rocm/vllm:rocm6.2_mi300_ubuntu20.04_py3.9_vllm_0.6.4"
}

variable "head" {
  description = "Image with the change. The default only holds its place."
  default     = "rocm/vllm:head"
}

variable "rehearsal" {
  description = "With --simulate only: how much slower the head is."
  default     = "0%"
}

variable "hugging_face_hub_token" {
  description = "HUGGING_FACE_HUB_TOKEN: PIPELINE_VAR_hugging_face_hub_token in the environment."
  default     = ""
  sensitive   = true
}

server "vllm" "mistral_7b" {
  for_each = { base = var.base, head = var.head }
  image    = each.value
  model    = "mistralai/Mistral-7B-v0.3"
  gpus     = 1
  port     = 8000

  # Not carried over: HUGGING_FACE_HUB_TOKEN of the secret hf-token-secret (set
  # PIPELINE_VAR_hugging_face_hub_token, or see secrets of pipeline.kubernetes)
  # Not carried over: the claim mistral-7b at /root/.cache/huggingface (a volume of the daemon of that name
  # stands in its place)
  # Not carried over: resources cpu = 10 (see resources of pipeline.kubernetes)
  # Not carried over: resources memory = 20G (see resources of pipeline.kubernetes)
  # Not carried over: resources cpu = 6 (see resources of pipeline.kubernetes)
  # Not carried over: resources memory = 6G (see resources of pipeline.kubernetes)
  # Not carried over: securityContext.seccompProfile = {"type":"Unconfined"} (a pipeline file has nothing for it)
  # Not carried over: securityContext.runAsGroup = 44 (a pipeline file has nothing for it)
  # Not carried over: ports = [{"containerPort":8000}] (the launcher chooses the address, and publishes the port
  # on this machine alone)
  args = {
    trust_remote_code      = true
    enable_chunked_prefill = true
    max_num_batched_tokens = 1024
  }

  env = { HUGGING_FACE_HUB_TOKEN = var.hugging_face_hub_token }

  container {
    volumes  = { mistral-7b = "/root/.cache/huggingface" }
    shm_size = "8GiB"
    cap_add  = ["SYS_PTRACE"]
    network  = "host"
    ipc      = "host"
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

  target  = server.vllm.mistral_7b[matrix.side]
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
# * server mistral_7b: HUGGING_FACE_HUB_TOKEN of the secret hf-token-secret (set
#   PIPELINE_VAR_hugging_face_hub_token, or see secrets of pipeline.kubernetes)
# * server mistral_7b: the claim mistral-7b at /root/.cache/huggingface (a volume of the daemon of that name
#   stands in its place)
# * server mistral_7b: resources cpu = 10 (see resources of pipeline.kubernetes)
# * server mistral_7b: resources memory = 20G (see resources of pipeline.kubernetes)
# * server mistral_7b: resources cpu = 6 (see resources of pipeline.kubernetes)
# * server mistral_7b: resources memory = 6G (see resources of pipeline.kubernetes)
# * server mistral_7b: securityContext.seccompProfile = {"type":"Unconfined"} (a pipeline file has nothing for
#   it)
# * server mistral_7b: securityContext.runAsGroup = 44 (a pipeline file has nothing for it)
# * server mistral_7b: ports = [{"containerPort":8000}] (the launcher chooses the address, and publishes the
#   port on this machine alone)
