# Base against head, from source.yaml (an srt-slurm recipe).
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
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

server "vllm" "qwen3_0_6b_vllm_direct_agg" {
  for_each    = { base = var.base, head = var.head }
  executable  = each.value
  model       = "qwen3-0.6b"
  served_name = "Qwen/Qwen3-0.6B"
  gpus        = 1

  args = {
    tensor_parallel_size   = 1
    gpu_memory_utilization = 0.5
    max_model_len          = 4096
  }

  env = { PYTHONUNBUFFERED = "1" }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
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

  target  = server.vllm.qwen3_0_6b_vllm_direct_agg[matrix.side]
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
# * model.container = vllm (its file of settings knows what it stands for: set image, and runtime of
#   pipeline.slurm)
# * frontend = {"type":"vllm","enable_multiple_frontends":false} (the server is asked directly: see deployment
#   and its router)
# * model.precision = bf16 (it is for people)
# * resources.gpu_type = h100 (see constraint of pipeline.slurm)
