# Base against head, from source.sh (a sweep of vllm bench).
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

server "vllm" "mns32_mnbt1024" {
  for_each   = { base = var.base, head = var.head }
  executable = each.value
  model      = "meta-llama/Llama-2-7b-chat-hf"
  gpus       = 1
  args       = { max_num_seqs = 32, max_num_batched_tokens = 1024 }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

server "vllm" "mns64_mnbt1024" {
  for_each   = { base = var.base, head = var.head }
  executable = each.value
  model      = "meta-llama/Llama-2-7b-chat-hf"
  gpus       = 1
  args       = { max_num_seqs = 64, max_num_batched_tokens = 1024 }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

dataset "random" "mns32_mnbt1024_ril128_rol32" {
  input_len  = 128
  output_len = 32
}

dataset "random" "mns32_mnbt1024_ril256_rol64" {
  input_len  = 256
  output_len = 64
}

benchmark "mns32_mnbt1024_ril128_rol32" {
  matrix {
    side = ["base", "head"]
  }

  target     = server.vllm.mns32_mnbt1024[matrix.side]
  dataset    = dataset.random.mns32_mnbt1024_ril128_rol32
  ignore_eos = false

  load {
    requests = 1000
  }

  repeat {
    min = 4
    max = 8
  }
}

benchmark "mns32_mnbt1024_ril256_rol64" {
  matrix {
    side = ["base", "head"]
  }

  target     = server.vllm.mns32_mnbt1024[matrix.side]
  dataset    = dataset.random.mns32_mnbt1024_ril256_rol64
  ignore_eos = false

  load {
    requests = 1000
  }

  repeat {
    min = 4
    max = 8
  }
}

benchmark "mns64_mnbt1024_ril128_rol32" {
  matrix {
    side = ["base", "head"]
  }

  target     = server.vllm.mns64_mnbt1024[matrix.side]
  dataset    = dataset.random.mns32_mnbt1024_ril128_rol32
  ignore_eos = false

  load {
    requests = 1000
  }

  repeat {
    min = 4
    max = 8
  }
}

benchmark "mns64_mnbt1024_ril256_rol64" {
  matrix {
    side = ["base", "head"]
  }

  target     = server.vllm.mns64_mnbt1024[matrix.side]
  dataset    = dataset.random.mns32_mnbt1024_ril256_rol64
  ignore_eos = false

  load {
    requests = 1000
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
    mns32_mnbt1024_ril128_rol32 = benchmark.mns32_mnbt1024_ril128_rol32
    mns32_mnbt1024_ril256_rol64 = benchmark.mns32_mnbt1024_ril256_rol64
    mns64_mnbt1024_ril128_rol32 = benchmark.mns64_mnbt1024_ril128_rol32
    mns64_mnbt1024_ril256_rol64 = benchmark.mns64_mnbt1024_ril256_rol64
  }

  benchmark = each.value
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50, metric.e2el.p50]
  margin    = "5%"
}

# Not carried over:
# * o = benchmarks/results (see --out)
