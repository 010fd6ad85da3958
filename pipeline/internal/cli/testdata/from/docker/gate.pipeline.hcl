# Base against head, from source.sh (docker run).
# The source describes no load: dataset and load below are a start. Replace them by your own.
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=IMAGE
#
# 3 parts were not carried over: see the end.

variable "base" {
  description = "Image from before the change."
  default     = "vllm/vllm-openai:latest"
}

variable "head" {
  description = "Image with the change. The default only holds its place."
  default     = "vllm/vllm-openai:head"
}

variable "rehearsal" {
  description = "With --simulate only: how much slower the head is."
  default     = "0%"
}

variable "home" {
  description = "Home folder of the machine that runs the servers."
  default     = "/root"
}

server "vllm" "sut" {
  for_each = { base = var.base, head = var.head }
  image    = each.value
  model    = "meta-llama/Llama-3.1-8B-Instruct"
  gpus     = 1

  # Not carried over: --rm (the launcher starts, watches and removes the container)
  # Not carried over: --gpus all (the server gets as many GPUs as it uses: see gpus)
  # Not carried over: --publish 8000:8000 (the launcher chooses the address, and publishes the port on this
  # machine alone)
  container {
    mounts  = ["${var.home}/.cache/huggingface:/root/.cache/huggingface"]
    volumes = { vllm-cache = "/root/.cache/vllm" }
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
# * server sut: --rm (the launcher starts, watches and removes the container)
# * server sut: --gpus all (the server gets as many GPUs as it uses: see gpus)
# * server sut: --publish 8000:8000 (the launcher chooses the address, and publishes the port on this machine
#   alone)
