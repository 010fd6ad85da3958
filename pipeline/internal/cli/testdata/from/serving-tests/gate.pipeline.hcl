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
  version    = "0.17.1"
  model      = "meta-llama/Meta-Llama-3.1-8B-Instruct"
  gpus       = 1

  args = {
    tensor_parallel_size = 1
    swap_space           = 16
    disable_log_stats    = true
    load_format          = "dummy"
  }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

server "vllm" "llama70b_tp4" {
  for_each   = { base = var.base, head = var.head }
  executable = each.value
  version    = "0.17.1"
  model      = "meta-llama/Meta-Llama-3.1-70B-Instruct"
  gpus       = 4

  args = {
    tensor_parallel_size = 4
    swap_space           = 16
    disable_log_stats    = true
    load_format          = "dummy"
  }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

server "vllm" "mixtral8x7b_tp2" {
  for_each   = { base = var.base, head = var.head }
  executable = each.value
  version    = "0.17.1"
  model      = "mistralai/Mixtral-8x7B-Instruct-v0.1"
  gpus       = 2

  args = {
    tensor_parallel_size = 2
    swap_space           = 16
    disable_log_stats    = true
    load_format          = "dummy"
  }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

server "vllm" "llama70b_tp4_2" {
  for_each   = { base = var.base, head = var.head }
  executable = each.value
  version    = "0.17.1"
  model      = "meta-llama/Meta-Llama-3.1-70B-Instruct"
  gpus       = 4

  args = {
    tensor_parallel_size = 4
    swap_space           = 16
    speculative_config = {
      model                      = "turboderp/Qwama-0.5B-Instruct"
      num_speculative_tokens     = 4
      draft_tensor_parallel_size = 1
    }
  }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

dataset "sharegpt" "llama8b_tp1_sharegpt" {
  path = "ShareGPT_V3_unfiltered_cleaned_split.json"
}

benchmark "llama8b_tp1_sharegpt" {
  matrix {
    side = ["base", "head"]
    rate = ["1", "4", "16", "inf"]
  }

  target     = server.vllm.llama8b_tp1[matrix.side]
  dataset    = dataset.sharegpt.llama8b_tp1_sharegpt
  ignore_eos = false

  load {
    rate            = matrix.rate == "inf" ? null : tonumber(matrix.rate)
    max_concurrency = 200
    requests        = 200
  }

  repeat {
    min = 4
    max = 8
  }
}

benchmark "llama70b_tp4_sharegpt" {
  matrix {
    side = ["base", "head"]
    rate = ["1", "4", "16", "inf"]
  }

  target     = server.vllm.llama70b_tp4[matrix.side]
  dataset    = dataset.sharegpt.llama8b_tp1_sharegpt
  ignore_eos = false

  load {
    rate            = matrix.rate == "inf" ? null : tonumber(matrix.rate)
    max_concurrency = 200
    requests        = 200
  }

  repeat {
    min = 4
    max = 8
  }
}

benchmark "mixtral8x7b_tp2_sharegpt" {
  matrix {
    side = ["base", "head"]
    rate = ["1", "4", "16", "inf"]
  }

  target     = server.vllm.mixtral8x7b_tp2[matrix.side]
  dataset    = dataset.sharegpt.llama8b_tp1_sharegpt
  ignore_eos = false

  load {
    rate            = matrix.rate == "inf" ? null : tonumber(matrix.rate)
    max_concurrency = 200
    requests        = 200
  }

  repeat {
    min = 4
    max = 8
  }
}

benchmark "llama70b_tp4_sharegpt_specdecode" {
  matrix {
    side = ["base", "head"]
  }

  target     = server.vllm.llama70b_tp4_2[matrix.side]
  dataset    = dataset.sharegpt.llama8b_tp1_sharegpt
  ignore_eos = false

  load {
    rate            = 2
    max_concurrency = 200
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
    llama8b_tp1_sharegpt             = benchmark.llama8b_tp1_sharegpt
    llama70b_tp4_sharegpt            = benchmark.llama70b_tp4_sharegpt
    mixtral8x7b_tp2_sharegpt         = benchmark.mixtral8x7b_tp2_sharegpt
    llama70b_tp4_sharegpt_specdecode = benchmark.llama70b_tp4_sharegpt_specdecode
  }

  benchmark = each.value
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50, metric.e2el.p50]
  margin    = "5%"
}
