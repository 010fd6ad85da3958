# Base against head, from source.md (a command line).
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

server "vllm" "sut" {
  for_each   = { base = var.base, head = var.head }
  executable = each.value
  model      = "deepseek-ai/DeepSeek-V3.2"
  gpus       = 4
  port       = 8001
  args       = { tensor_parallel_size = 4, kv_cache_dtype = "fp8" }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

dataset "random" "serving" {
  input_len  = 128
  output_len = 2048
}

benchmark "serving" {
  matrix {
    side = ["base", "head"]
  }

  target     = server.vllm.sut[matrix.side]
  dataset    = dataset.random.serving
  ignore_eos = false

  # Not carried over: port = 8001 (every run finds the server, records all metrics and keeps every request)
  load {
    max_concurrency = 8
    requests        = 16
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
  metrics   = [metric.ttft.mean, metric.tpot.mean, metric.e2el.mean]
  margin    = "5%"
}

# Not carried over:
# * benchmark serving: port = 8001 (every run finds the server, records all metrics and keeps every request)
