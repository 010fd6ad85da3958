# Base against head, from source.sh (a command line).
# The source describes no load: dataset and load below are a start. Replace them by your own.
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=PROGRAM
#
# 5 parts were not carried over: see the end.

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
  for_each    = { base = var.base, head = var.head }
  executable  = each.value
  model       = "meta-llama/Llama-3.1-8B-Instruct"
  served_name = "llama"
  gpus        = 2
  port        = 8000

  # Not carried over: --host 0.0.0.0 (the launcher chooses the address)
  # Not carried over: --api-key and its value (arguments are visible in process lists: set api_key of the
  # server, or leave the key out, since the server listens on the local address only)
  # Not carried over: --served-model-name llama-8b (the load uses the first name only)
  # Not carried over: > server.log (every log is kept in the run's directory)
  # Not carried over: 2>&1 (every log is kept in the run's directory)
  args = {
    tensor_parallel_size                = 2
    optimization_level                  = 3
    "compilation_config.cudagraph_mode" = "PIECEWISE"
    enable_prefix_caching               = false
    max_model_len                       = 8192
    gpu_memory_utilization              = 0.90
    kv_transfer_config                  = { kv_connector = "NixlConnector", kv_role = "kv_both" }
    "speculative_config.method"         = "ngram"
    allowed_origins                     = ["*"]
  }

  env = { VLLM_ATTENTION_BACKEND = "FLASH_ATTN" }

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
# * server sut: --host 0.0.0.0 (the launcher chooses the address)
# * server sut: --api-key and its value (arguments are visible in process lists: set api_key of the server, or
#   leave the key out, since the server listens on the local address only)
# * server sut: --served-model-name llama-8b (the load uses the first name only)
# * server sut: > server.log (every log is kept in the run's directory)
# * server sut: 2>&1 (every log is kept in the run's directory)
