# Base against head, from source.yaml (a configuration of TensorRT-LLM's perf-sanity tests).
#
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=PROGRAM
#
# 1 part was not carried over: see the end.

variable "base" {
  description = "Program from before the change."
  default     = "trtllm-serve"
}

variable "head" {
  description = "Program with the change. The default only holds its place."
  default     = "head/bin/trtllm-serve"
}

server "trtllm" "llama70b_fp4_tp4_512_32" {
  for_each   = { base = var.base, head = var.head }
  executable = each.value
  model      = "llama_v3.3_70b_instruct_fp4"
  gpus       = 4

  args = {
    backend = "pytorch"
    config = {
      tensor_parallel_size   = 4
      pipeline_parallel_size = 1
      max_batch_size         = 512
      max_num_tokens         = 2048
      cuda_graph_config      = { enable_padding = true, max_batch_size = 512 }
      kv_cache_config        = { enable_block_reuse = false, free_gpu_memory_fraction = 0.9 }
    }
  }
}

server "trtllm" "llama70b_fp4_tp4_1000_1000" {
  for_each   = { base = var.base, head = var.head }
  executable = each.value
  model      = "llama_v3.3_70b_instruct_fp4"
  gpus       = 4

  args = {
    backend = "pytorch"
    config = {
      tensor_parallel_size   = 4
      pipeline_parallel_size = 1
      max_batch_size         = 1024
      max_num_tokens         = 4096
      cuda_graph_config      = { enable_padding = true, max_batch_size = 1024 }
      kv_cache_config        = { enable_block_reuse = false, free_gpu_memory_fraction = 0.85 }
    }
  }
}

dataset "random" "con512_iter10_512_32" {
  input_len  = 512
  output_len = 32
}

dataset "random" "con512_iter10_1000_1000" {
  input_len  = 1000
  output_len = 1000
}

benchmark "con512_iter10_512_32" {
  matrix {
    side = ["base", "head"]
  }

  target  = server.trtllm.llama70b_fp4_tp4_512_32[matrix.side]
  dataset = dataset.random.con512_iter10_512_32

  load {
    max_concurrency = 512
    requests        = 5120
  }

  repeat {
    min = 4
    max = 8
  }
}

benchmark "con512_iter10_1000_1000" {
  matrix {
    side = ["base", "head"]
  }

  target  = server.trtllm.llama70b_fp4_tp4_1000_1000[matrix.side]
  dataset = dataset.random.con512_iter10_1000_1000

  load {
    max_concurrency = 512
    requests        = 5120
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
    con512_iter10_512_32    = benchmark.con512_iter10_512_32
    con512_iter10_1000_1000 = benchmark.con512_iter10_1000_1000
  }

  benchmark = each.value
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50, metric.e2el.p50]
  margin    = "5%"
}

# Not carried over:
# * hardware = {"gpus_per_node":8} (see the labels of the runner)
