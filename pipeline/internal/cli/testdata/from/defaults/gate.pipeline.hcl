# Base against head, from source.sh (a command line).
# The source describes no load: dataset and load below are a start. Replace them by your own.
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=PROGRAM
#
# 4 parts were not carried over: see the end.

variable "base" {
  description = "Program from before the change."
  default     = "vllm"
}

variable "head" {
  description = "Program with the change. The default only holds its place."
  default     = "head/bin/vllm"
}

variable "rehearsal" {
  description = "With --simulate only: how much slower the head is."
  default     = "0%"
}

variable "x1" {
  description = "$1 of the source."
  default     = "/SFT_merged_model"
}

variable "model_name" {
  description = "$MODEL_NAME of the source."
  default     = "Qwen3"
}

variable "hf_hub_offline" {
  description = "$HF_HUB_OFFLINE of the source."
  default     = "1"
}

variable "swap_space" {
  description = "$SWAP_SPACE of the source."
  default     = "2"
}

server "vllm" "sut" {
  for_each    = { base = var.base, head = var.head }
  executable  = each.value
  version     = "0.17.1"
  model       = var.x1
  served_name = var.model_name
  gpus        = 1
  port        = 8001

  # Not carried over: --host $host (the launcher chooses the address)
  # Not carried over: --api-key and its value (arguments are visible in process lists: set api_key of the
  # server, or leave the key out, since the server listens on the local address only)
  # Not carried over: > $log_file (every log is kept in the run's directory)
  args = {
    dtype                  = "float16"
    quantization           = "fp8"
    max_model_len          = 4096
    max_num_batched_tokens = 4096
    gpu_memory_utilization = 0.35
    swap_space             = var.swap_space
  }

  env = { HF_HUB_OFFLINE = var.hf_hub_offline }

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

  target  = server.vllm.sut[matrix.side]
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
# * set -euo pipefail (only commands that start a server or load it are read)
# * server sut: --host $host (the launcher chooses the address)
# * server sut: --api-key and its value (arguments are visible in process lists: set api_key of the server, or
#   leave the key out, since the server listens on the local address only)
# * server sut: > $log_file (every log is kept in the run's directory)
