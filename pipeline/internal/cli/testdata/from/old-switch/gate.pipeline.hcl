# Base against head, from source.sh (a command line).
# The source describes no load: dataset and load below are a start. Replace them by your own.
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=PROGRAM

variable "base" {
  description = "Program from before the change."
  default     = "llama-server"
}

variable "head" {
  description = "Program with the change. The default only holds its place."
  default     = "head/bin/llama-server"
}

variable "rehearsal" {
  description = "With --simulate only: how much slower the head is."
  default     = "0%"
}

server "llamacpp" "sut" {
  for_each   = { base = var.base, head = var.head }
  executable = each.value
  model      = "ggml-org/Qwen2.5-Coder-3B-Q8_0-GGUF"
  port       = 8012

  args = {
    gpu_layers   = 99
    flash_attn   = true
    ubatch_size  = 1024
    batch_size   = 1024
    defrag_thold = 0.1
    ctx_size     = 0
    cache_reuse  = 256
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
