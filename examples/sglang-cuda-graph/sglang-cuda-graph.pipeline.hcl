# SGLang with and without CUDA graphs for a burst of very short requests.
#
#   pipeline run sglang-cuda-graph.pipeline.hcl
#   pipeline run sglang-cuda-graph.pipeline.hcl --simulate

pipeline {
  description = "SGLang: CUDA graphs off against on"
  timeout     = "1h"
}

variable "image" {
  type        = string
  description = "Image of SGLang, best by its digest."
  default     = "lmsysorg/sglang:v0.5.5"
}

variable "repeats" {
  type        = number
  description = "Launches of each side."
  default     = 6
}

server "sglang" "sut" {
  for_each = { off = true, on = false }
  image    = var.image
  version  = "0.5.5"
  model    = "Qwen/Qwen2.5-0.5B"
  gpus     = 1

  args = {
    disable_cuda_graph  = each.value
    disable_radix_cache = true # the burst must not find its own prompts again
    enable_metrics      = true
  }

  container {
    network  = "host"
    ipc      = "host"
    shm_size = "16GiB"
    volumes  = { hf-cache = "/root/.cache/huggingface" }
  }

  simulate {
    profile = "h100"
  }
}

# The published run drew lengths of 1 to 64 in and 1 to 16 out (range ratio 0).
dataset "random" "short" {
  input_len  = { min = 1, max = 64 }
  output_len = { min = 1, max = 16 }
}

benchmark "burst" {
  description = "200 requests of a few tokens at once"

  matrix {
    graphs = ["off", "on"]
  }

  target  = server.sglang.sut[matrix.graphs]
  dataset = dataset.random.short

  load {
    arrival  = "unlimited"
    requests = 200
  }

  warmup {
    requests = 1
  }

  repeat {
    min = var.repeats
    max = var.repeats
  }
}

baseline "paired" "eager" {
  axis  = "graphs"
  value = "off"
}

gate "burst" {
  description = "Graphs must not cost anything, and are expected to gain"
  benchmark   = benchmark.burst
  baseline    = baseline.paired.eager
  metrics     = [metric.e2el.mean, metric.ttft.p50, metric.itl.mean]
  margin      = "5%"
}
