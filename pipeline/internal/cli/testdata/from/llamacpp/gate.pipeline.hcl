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
  default     = "ghcr.io/ggml-org/llama.cpp:server-cuda"
}

variable "head" {
  description = "Image with the change. The default only holds its place."
  default     = "ghcr.io/ggml-org/llama.cpp:head"
}

variable "rehearsal" {
  description = "With --simulate only: how much slower the head is."
  default     = "0%"
}

server "llamacpp" "sut" {
  for_each = { base = var.base, head = var.head }
  image    = each.value
  model    = "/models/qwen2.5-7b-instruct-q4_k_m.gguf"
  gpus     = 1
  port     = 8080

  # Not carried over: --detach (the launcher starts, watches and removes the container)
  # Not carried over: --publish 8080:8080 (the launcher chooses the address, and publishes the port on this
  # machine alone)
  # Not carried over: --host 0.0.0.0 (the launcher chooses the address)
  args = {
    ctx_size   = 8192
    parallel   = 8
    gpu_layers = 99
  }

  container {
    mounts = ["/srv/models:/models"]
    gpus   = ["0"]
    memory = "16GiB"
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

  target  = server.llamacpp.sut[matrix.side]
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
# * server sut: --detach (the launcher starts, watches and removes the container)
# * server sut: --publish 8080:8080 (the launcher chooses the address, and publishes the port on this machine
#   alone)
# * server sut: --host 0.0.0.0 (the launcher chooses the address)
