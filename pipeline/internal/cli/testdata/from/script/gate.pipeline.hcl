# Base against head, from source.sh (a command line).
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=PROGRAM
#
# 7 parts were not carried over: see the end.

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
  description = "$MODEL of the source."
  default     = "Qwen/Qwen2.5-7B-Instruct"
}

variable "hf_token" {
  description = "HF_TOKEN: PIPELINE_VAR_hf_token in the environment."
  default     = ""
  sensitive   = true
}

server "vllm" "sut" {
  for_each   = { base = var.base, head = var.head }
  executable = each.value
  model      = var.model
  gpus       = 2
  args       = { tensor_parallel_size = 2, max_model_len = 4096 }
  env        = { VLLM_LOGGING_LEVEL = "WARNING", HF_TOKEN = var.hf_token }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

dataset "random" "serving" {
  input_len  = { min = 819, max = 1228 }
  output_len = { min = 102, max = 153 }
}

dataset "sharegpt" "serving" {
  path = "ShareGPT_V3_unfiltered_cleaned_split.json"
}

benchmark "serving" {
  matrix {
    side = ["base", "head"]
  }

  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.serving
  body    = { top_p = 0.9 }
  seed    = 7

  # Not carried over: percentile_metrics = ttft,tpot,itl (every run finds the server, records all metrics and
  # keeps every request)
  # Not carried over: save_result (every run finds the server, records all metrics and keeps every request)
  load {
    rate       = 6
    burstiness = 0.7
    requests   = 300
  }

  goodput {
    ttft = "500ms"
    tpot = "50ms"
  }

  repeat {
    min = 4
    max = 8
  }
}

benchmark "serving_2" {
  matrix {
    side = ["base", "head"]
  }

  target     = server.vllm.sut[matrix.side]
  dataset    = dataset.sharegpt.serving
  endpoint   = "chat"
  ignore_eos = false

  load {
    max_concurrency = 32
    requests        = 500
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
  for_each = {
    serving   = benchmark.serving
    serving_2 = benchmark.serving_2
  }

  benchmark = each.value
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50, metric.e2el.p50]
  margin    = "5%"
}

# Not carried over:
# * set -euo pipefail (only commands that start a server or load it are read)
# * nvidia-smi (only commands that start a server or load it are read)
# * until curl -sf localhost:8000/health (only commands that start a server or load it are read)
# * sleep 1 (only commands that start a server or load it are read)
# * the benchmark serving (its dataset "hf" has no counterpart: write its prompts into a file, and see dataset
#   file)
# * benchmark serving: percentile_metrics = ttft,tpot,itl (every run finds the server, records all metrics and
#   keeps every request)
# * benchmark serving: save_result (every run finds the server, records all metrics and keeps every request)
