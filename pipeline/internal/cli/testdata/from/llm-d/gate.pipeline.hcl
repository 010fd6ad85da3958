# Base against head, from source.yaml (a scenario of llm-d-benchmark).
# The source describes no load: dataset and load below are a start. Replace them by your own.
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=IMAGE
#
# 6 parts were not carried over: see the end.

variable "base" {
  description = "Image from before the change."
  default     = "docker.io/vllm/vllm-openai:v0.20.2"
}

variable "head" {
  description = "Image with the change. The default only holds its place."
  default     = "docker.io/vllm/vllm-openai:head"
}

variable "rehearsal" {
  description = "With --simulate only: how much slower the head is."
  default     = "0%"
}

variable "hf_token" {
  description = "HF_TOKEN: PIPELINE_VAR_hf_token in the environment."
  default     = ""
  sensitive   = true
}

server "vllm" "ocp_vllm_llama_8b" {
  for_each = { base = var.base, head = var.head }
  image    = each.value
  model    = "meta-llama/Llama-3.1-8B-Instruct"
  gpus     = 1
  port     = 8000
  # Not carried over: --host 0.0.0.0 (the launcher chooses the address)
  # Not carried over: affinity =
  # {"enabled":true,"nodeSelector":{"nvidia.com/gpu.product":"NVIDIA-H100-80GB-HBM3"}} (see node_selector of the
  # kubernetes block)
  # Not carried over: vllmCommon = {"priorityClassName":"nightly-gpu-critical"} (see the kubernetes block)
  # Not carried over: workDir = /tmp/llmdbenchcicdvllm-ocp/ (every run has a directory of its own)
  # Not carried over: harness = {"name":"nop","experimentProfile":"nop.yaml","executable":"llm-d-benchmark.py"}
  # (the load is that of a benchmark block)
  # Not carried over: images = {"benchmark":{"repository":"ghcr.io/llm-d/llm-d-benchmark","tag":"nightly"}} (no
  # image of the harness is needed)
  args = { gpu_memory_utilization = 0.95, tensor_parallel_size = 1 }
  env  = { HF_TOKEN = var.hf_token }

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

  target  = server.vllm.ocp_vllm_llama_8b[matrix.side]
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
# * server ocp_vllm_llama_8b: --host 0.0.0.0 (the launcher chooses the address)
# * server ocp_vllm_llama_8b: affinity =
#   {"enabled":true,"nodeSelector":{"nvidia.com/gpu.product":"NVIDIA-H100-80GB-HBM3"}} (see node_selector of
#   the kubernetes block)
# * server ocp_vllm_llama_8b: vllmCommon = {"priorityClassName":"nightly-gpu-critical"} (see the kubernetes
#   block)
# * server ocp_vllm_llama_8b: workDir = /tmp/llmdbenchcicdvllm-ocp/ (every run has a directory of its own)
# * server ocp_vllm_llama_8b: harness =
#   {"name":"nop","experimentProfile":"nop.yaml","executable":"llm-d-benchmark.py"} (the load is that of a
#   benchmark block)
# * server ocp_vllm_llama_8b: images =
#   {"benchmark":{"repository":"ghcr.io/llm-d/llm-d-benchmark","tag":"nightly"}} (no image of the harness is
#   needed)
