# Base against head, from source.yaml (an srt-slurm recipe).
#
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=PROGRAM
#
# 4 parts were not carried over: see the end.

pipeline {
  slurm {
    gpus_per_node = 8
    time          = "30m"
  }
}

variable "base" {
  description = "Program from before the change."
  default     = "trtllm-serve"
}

variable "head" {
  description = "Program with the change. The default only holds its place."
  default     = "head/bin/trtllm-serve"
}

server "trtllm" "qwen3_0_6b_trtllm_serve_agg" {
  for_each   = { base = var.base, head = var.head }
  executable = each.value
  model      = "qwen3-0.6b"
  gpus       = 1

  args = {
    config = {
      backend              = "pytorch"
      tensor_parallel_size = 1
      max_batch_size       = 64
      max_num_tokens       = 8192
      max_seq_len          = 4096
      trust_remote_code    = true
      kv_cache_config      = { free_gpu_memory_fraction = 0.5 }
    }
  }

  env = { PYTHONUNBUFFERED = "1", TLLM_LOG_LEVEL = "INFO" }
}

dataset "random" "serving" {
  input_len  = 128
  output_len = 128
}

benchmark "serving" {
  matrix {
    side        = ["base", "head"]
    concurrency = [4, 8]
  }

  target  = server.trtllm.qwen3_0_6b_trtllm_serve_agg[matrix.side]
  dataset = dataset.random.serving

  load {
    max_concurrency = matrix.concurrency
    requests        = 10 * matrix.concurrency
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
  metrics   = [metric.ttft.p50, metric.tpot.p50, metric.e2el.p50]
  margin    = "5%"
}

# Not carried over:
# * model.container = trtllm (its file of settings knows what it stands for: set image, and runtime of
#   pipeline.slurm)
# * frontend = {"type":"trtllm_serve","enable_multiple_frontends":false} (the server is asked directly: see
#   deployment and its router)
# * model.precision = bf16 (it is for people)
# * resources.gpu_type = h100 (see constraint of pipeline.slurm)
