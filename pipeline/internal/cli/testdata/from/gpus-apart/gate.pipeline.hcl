# Base against head, from source.sh (docker run).
# The source describes no load: dataset and load below are a start. Replace them by your own.
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=IMAGE
#
# 4 parts were not carried over: see the end.

variable "base" {
  description = "Image from before the change."
  default     = "lmsysorg/sglang:latest"
}

variable "head" {
  description = "Image with the change. The default only holds its place."
  default     = "lmsysorg/sglang:head"
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

server "sglang" "sut" {
  for_each = { base = var.base, head = var.head }
  image    = each.value
  model    = "Qwen/Qwen2.5-VL-32B-Instruct"
  gpus     = 2
  port     = 30001
  # Not carried over: --publish 30001:30001 (the launcher chooses the address, and publishes the port on this
  # machine alone)
  # Not carried over: the value of HF_TOKEN (secrets do not belong in the file: set PIPELINE_VAR_hf_token)
  # Not carried over: --host 0.0.0.0 (the launcher chooses the address)
  args = { tp_size = 2, mem_fraction_static = 0.7 }
  env  = { HF_TOKEN = var.hf_token }

  container {
    gpus     = ["6", "7"]
    shm_size = "32GiB"
    mounts   = ["/fsx/user/.cache/huggingface:/root/.cache/huggingface"]
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

  target  = server.sglang.sut[matrix.side]
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
# * mkdir -p /fsx/user/.cache/huggingface (only commands that start a server or load it are read)
# * server sut: --publish 30001:30001 (the launcher chooses the address, and publishes the port on this
#   machine alone)
# * server sut: the value of HF_TOKEN (secrets do not belong in the file: set PIPELINE_VAR_hf_token)
# * server sut: --host 0.0.0.0 (the launcher chooses the address)
