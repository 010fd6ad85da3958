# Base against head, from source.sh (a command line).
# The source describes no load: dataset and load below are a start. Replace them by your own.
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=PROGRAM
#
# 1 part was not carried over: see the end.

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

variable "model" {
  description = "$MODEL, which the source does not set."
  default     = "MODEL"
}

server "vllm" "sut" {
  for_each   = { base = var.base, head = var.head }
  executable = each.value
  model      = var.model
  gpus       = 4

  args = {
    data_parallel_size       = 4
    data_parallel_size_local = 2
    data_parallel_address    = "10.99.48.128"
    data_parallel_rpc_port   = 13345
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
# * $MODEL (the source does not set it: set the variable model)
