# Base against head, from source.json (a suite of vLLM's serving tests).
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=PROGRAM

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

server "vllm" "llama8b_tp1" {
  for_each   = { base = var.base, head = var.head }
  executable = each.value
  model      = "meta-llama/Llama-3.1-8B-Instruct"

  args = {
    tensor_parallel_size         = 1
    dtype                        = "bfloat16"
    distributed_executor_backend = "mp"
    block_size                   = 128
    trust_remote_code            = true
    disable_log_stats            = true
    max_num_batched_tokens       = 2048
    max_num_seqs                 = 256
  }

  env = {
    VLLM_RPC_TIMEOUT                = "100000"
    VLLM_ALLOW_LONG_MAX_MODEL_LEN   = "1"
    VLLM_ENGINE_ITERATION_TIMEOUT_S = "120"
    VLLM_CPU_SGL_KERNEL             = "1"
    VLLM_CPU_KVCACHE_SPACE          = "40"
  }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

server "vllm" "llama8b_tp2" {
  for_each   = { base = var.base, head = var.head }
  executable = each.value
  model      = "meta-llama/Llama-3.1-8B-Instruct"

  args = {
    tensor_parallel_size         = 2
    dtype                        = "bfloat16"
    distributed_executor_backend = "mp"
    block_size                   = 128
    trust_remote_code            = true
    disable_log_stats            = true
    max_num_batched_tokens       = 2048
    max_num_seqs                 = 256
  }

  env = {
    VLLM_RPC_TIMEOUT                = "100000"
    VLLM_ALLOW_LONG_MAX_MODEL_LEN   = "1"
    VLLM_ENGINE_ITERATION_TIMEOUT_S = "120"
    VLLM_CPU_SGL_KERNEL             = "1"
    VLLM_CPU_KVCACHE_SPACE          = "40"
  }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

server "vllm" "llama8b_int4_tp1" {
  for_each   = { base = var.base, head = var.head }
  executable = each.value
  model      = "hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4"

  args = {
    tensor_parallel_size         = 1
    dtype                        = "bfloat16"
    distributed_executor_backend = "mp"
    block_size                   = 128
    trust_remote_code            = true
    disable_log_stats            = true
    max_num_batched_tokens       = 2048
    max_num_seqs                 = 256
  }

  env = {
    VLLM_RPC_TIMEOUT                = "100000"
    VLLM_ALLOW_LONG_MAX_MODEL_LEN   = "1"
    VLLM_ENGINE_ITERATION_TIMEOUT_S = "120"
    VLLM_CPU_SGL_KERNEL             = "1"
    VLLM_CPU_KVCACHE_SPACE          = "40"
  }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

server "vllm" "gemma7b_tp1" {
  for_each   = { base = var.base, head = var.head }
  executable = each.value
  model      = "google/gemma-7b"

  args = {
    tensor_parallel_size         = 1
    dtype                        = "bfloat16"
    distributed_executor_backend = "mp"
    block_size                   = 128
    trust_remote_code            = true
    disable_log_stats            = true
    max_num_batched_tokens       = 2048
    max_num_seqs                 = 256
  }

  env = {
    VLLM_RPC_TIMEOUT                = "100000"
    VLLM_ALLOW_LONG_MAX_MODEL_LEN   = "1"
    VLLM_ENGINE_ITERATION_TIMEOUT_S = "120"
    VLLM_CPU_SGL_KERNEL             = "1"
    VLLM_CPU_KVCACHE_SPACE          = "40"
  }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

dataset "sharegpt" "llama8b_tp1_sharegpt" {
  path = "ShareGPT_V3_unfiltered_cleaned_split.json"
}

dataset "random" "llama8b_tp2_random_128_128" {
  input_len  = 128
  output_len = 128
}

dataset "random" "llama8b_tp2_random_128_2048" {
  input_len  = 128
  output_len = 2048
}

benchmark "llama8b_tp1_sharegpt" {
  matrix {
    side        = ["base", "head"]
    concurrency = [12, 16, 24, 32, 64, 128, 200]
  }

  target  = server.vllm.llama8b_tp1[matrix.side]
  dataset = dataset.sharegpt.llama8b_tp1_sharegpt

  load {
    max_concurrency = matrix.concurrency
    requests        = 200
  }

  repeat {
    min = 4
    max = 8
  }
}

benchmark "llama8b_tp2_random_128_128" {
  matrix {
    side        = ["base", "head"]
    concurrency = [12, 16, 24, 32, 64, 128, 200]
  }

  target  = server.vllm.llama8b_tp2[matrix.side]
  dataset = dataset.random.llama8b_tp2_random_128_128

  load {
    max_concurrency = matrix.concurrency
    requests        = 200
  }

  repeat {
    min = 4
    max = 8
  }
}

benchmark "llama8b_tp2_random_128_2048" {
  matrix {
    side        = ["base", "head"]
    concurrency = [12, 16, 24, 32, 64, 128, 200]
  }

  target  = server.vllm.llama8b_tp2[matrix.side]
  dataset = dataset.random.llama8b_tp2_random_128_2048

  load {
    max_concurrency = matrix.concurrency
    requests        = 200
  }

  repeat {
    min = 4
    max = 8
  }
}

benchmark "llama8b_int4_tp1_random_128_128" {
  matrix {
    side        = ["base", "head"]
    concurrency = [12, 16, 24, 32, 64, 128, 200]
  }

  target  = server.vllm.llama8b_int4_tp1[matrix.side]
  dataset = dataset.random.llama8b_tp2_random_128_128

  load {
    max_concurrency = matrix.concurrency
    requests        = 200
  }

  repeat {
    min = 4
    max = 8
  }
}

benchmark "gemma7b_tp1_random_128_128" {
  matrix {
    side        = ["base", "head"]
    concurrency = [12, 16, 24, 32, 64, 128, 200]
  }

  target  = server.vllm.gemma7b_tp1[matrix.side]
  dataset = dataset.random.llama8b_tp2_random_128_128

  load {
    max_concurrency = matrix.concurrency
    requests        = 200
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
    llama8b_tp1_sharegpt            = benchmark.llama8b_tp1_sharegpt
    llama8b_tp2_random_128_128      = benchmark.llama8b_tp2_random_128_128
    llama8b_tp2_random_128_2048     = benchmark.llama8b_tp2_random_128_2048
    llama8b_int4_tp1_random_128_128 = benchmark.llama8b_int4_tp1_random_128_128
    gemma7b_tp1_random_128_128      = benchmark.gemma7b_tp1_random_128_128
  }

  benchmark = each.value
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50, metric.e2el.p50]
  margin    = "5%"
}
