# Base against head, from source.yaml (an srt-slurm recipe).
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=PROGRAM
#
# 6 parts were not carried over: see the end.

pipeline {
  slurm {
    gpus_per_node = 8
    time          = "30m"
  }
}

variable "base" {
  description = "Program from before the change."
  default     = "python3"
}

variable "head" {
  description = "Program with the change. The default only holds its place."
  default     = "head/bin/python3"
}

variable "rehearsal" {
  description = "With --simulate only: how much slower the head is."
  default     = "0%"
}

deployment "qwen3_0_6b_sglang_router_disagg" {
  for_each = { base = var.base, head = var.head }

  # Not carried over: frontend =
  # {"type":"sglang-router","enable_multiple_frontends":false,"args":{"policy":"cache_aware"}} (the router of
  # this program stands in front of them)
  kv_transfer "mooncake" {
  }

  server "sglang" "prefill" {
    role        = "producer"
    executable  = [each.value, "-m", "sglang.launch_server"]
    version     = "0.5.19"
    model       = "qwen3-0.6b"
    served_name = "Qwen/Qwen3-0.6B"
    gpus        = 1

    # Not carried over: roles.prefill.srun_options = {"mem":"64G"} (a pipeline file has nothing for it)
    args = {
      tensor_parallel_size         = 1
      mem_fraction_static          = 0.5
      context_length               = 4096
      disable_piecewise_cuda_graph = true
    }

    env = { PYTHONUNBUFFERED = "1" }

    simulate {
      profile  = "fast"
      slowdown = each.key == "head" ? var.rehearsal : "0%"
    }
  }

  server "sglang" "decode" {
    role        = "consumer"
    executable  = [each.value, "-m", "sglang.launch_server"]
    version     = "0.5.19"
    model       = "qwen3-0.6b"
    served_name = "Qwen/Qwen3-0.6B"
    gpus        = 1

    # Not carried over: roles.decode.srun_options = {"mem":"32G"} (a pipeline file has nothing for it)
    args = {
      tensor_parallel_size         = 1
      mem_fraction_static          = 0.5
      context_length               = 4096
      disable_piecewise_cuda_graph = true
    }

    env = { PYTHONUNBUFFERED = "1" }

    simulate {
      profile  = "fast"
      slowdown = each.key == "head" ? var.rehearsal : "0%"
    }
  }

  router "sglang" {
    prefill = [self.server.prefill]
    decode  = [self.server.decode]
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

  target  = deployment.qwen3_0_6b_sglang_router_disagg[matrix.side]
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
# * model.container = sglang (its file of settings knows what it stands for: set image, and runtime of
#   pipeline.slurm)
# * model.precision = bf16 (it is for people)
# * resources.gpu_type = h100 (see constraint of pipeline.slurm)
# * deployment qwen3_0_6b_sglang_router_disagg: frontend =
#   {"type":"sglang-router","enable_multiple_frontends":false,"args":{"policy":"cache_aware"}} (the router of
#   this program stands in front of them)
# * server prefill of qwen3_0_6b_sglang_router_disagg: roles.prefill.srun_options = {"mem":"64G"} (a pipeline
#   file has nothing for it)
# * server decode of qwen3_0_6b_sglang_router_disagg: roles.decode.srun_options = {"mem":"32G"} (a pipeline
#   file has nothing for it)
