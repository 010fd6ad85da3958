# Base against head, from source.yaml (an srt-slurm recipe).
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=IMAGE
#
# 5 parts were not carried over: see the end.

pipeline {
  slurm {
    runtime       = "pyxis"
    gpus_per_node = 8
    time          = "30m"
  }
}

variable "base" {
  description = "Image from before the change."
  default     = "lmsysorg/sglang:v0.5.5"
}

variable "head" {
  description = "Image with the change. The default only holds its place."
  default     = "lmsysorg/sglang:head"
}

variable "rehearsal" {
  description = "With --simulate only: how much slower the head is."
  default     = "0%"
}

server "sglang" "qwen3_0_6b_sglang_router_agg" {
  for_each    = { base = var.base, head = var.head }
  image       = each.value
  model       = "qwen3-0.6b"
  served_name = "Qwen/Qwen3-0.6B"
  gpus        = 1

  # Not carried over: 2 workers (one of them is measured: see deployment and its router for several)
  # Not carried over: roles.agg.srun_options = {"mem":"64G"} (a pipeline file has nothing for it)
  args = {
    tensor_parallel_size = 1
    mem_fraction_static  = 0.5
    context_length       = 4096
    cuda_graph_max_bs    = 64
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
    side = ["base", "head"]
  }

  target  = server.sglang.qwen3_0_6b_sglang_router_agg[matrix.side]
  dataset = dataset.random.serving

  load {
    max_concurrency = 16
    requests        = 160
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
# * frontend = {"type":"sglang-router","args":{"policy":"cache_aware"}} (the server is asked directly: see
#   deployment and its router)
# * model.precision = bf16 (it is for people)
# * resources.gpu_type = h100 (see constraint of pipeline.slurm)
# * server qwen3_0_6b_sglang_router_agg: 2 workers (one of them is measured: see deployment and its router for
#   several)
# * server qwen3_0_6b_sglang_router_agg: roles.agg.srun_options = {"mem":"64G"} (a pipeline file has nothing
#   for it)
