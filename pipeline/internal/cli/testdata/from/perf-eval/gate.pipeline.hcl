# Base against head, from source.yaml (a workload of perf-eval).
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=IMAGE
#
# 4 parts were not carried over: see the end.

variable "base" {
  description = "Image from before the change."
  default     = "vllm/vllm-openai:nightly"
}

variable "head" {
  description = "Image with the change. The default only holds its place."
  default     = "vllm/vllm-openai:head"
}

variable "rehearsal" {
  description = "With --simulate only: how much slower the head is."
  default     = "0%"
}

server "vllm" "deepseek_v3_2_h200" {
  for_each = { base = var.base, head = var.head }
  image    = each.value
  model    = "deepseek-ai/DeepSeek-V3.2"
  gpus     = 8

  # Not carried over: the image (the workload names none: VLLM_IMAGE or VLLM_COMMIT choose it, and the default
  # is a nightly)
  args = {
    tensor_parallel_size    = 2
    data_parallel_size      = 4
    enable_expert_parallel  = true
    max_model_len           = 40960
    tokenizer_mode          = "deepseek_v32"
    tool_call_parser        = "deepseek_v32"
    reasoning_parser        = "deepseek_v3"
    enable_auto_tool_choice = true
    trust_remote_code       = true
  }

  env = { TRITON_PTXAS_PATH = "/usr/local/cuda/bin/ptxas" }

  container {
    ipc = "host"
  }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

dataset "random" "x8k_in_1k_out_conc_128" {
  input_len  = 8192
  output_len = 1024
}

benchmark "x8k_in_1k_out_conc_128" {
  matrix {
    side = ["base", "head"]
  }

  target     = server.vllm.deepseek_v3_2_h200[matrix.side]
  dataset    = dataset.random.x8k_in_1k_out_conc_128
  endpoint   = "chat"
  ignore_eos = false

  load {
    max_concurrency = 128
    requests        = 512
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
  benchmark = benchmark.x8k_in_1k_out_conc_128
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50, metric.e2el.p50]
  margin    = "5%"
}

# Not carried over:
# * gpu = H200 (see the labels of the runner)
# * nightly = true (a schedule belongs to the workflow)
# * lm_eval =
#   {"model_args":{"tokenized_requests":false,"tokenizer_backend":null,"timeout":6000},"tasks":[{"name":"gsm8k","num_fewshot":5,"model_args":{"num_concurrent":64,"m…
#   (see driver "evaluation" of a benchmark)
# * server deepseek_v3_2_h200: the image (the workload names none: VLLM_IMAGE or VLLM_COMMIT choose it, and
#   the default is a nightly)
