# How one server scales with the number of requests and with the length of the prompt, base against head.
#
#   pipeline run length-sweep.pipeline.hcl --var base=IMAGE --var head=IMAGE
#   pipeline run length-sweep.pipeline.hcl --simulate --time-scale 20 --var quick=true

pipeline {
  description = "Length and batch sweep of one vLLM server"
  timeout     = "8h"
}

variable "base" {
  type        = string
  description = "Image of the base, best by its digest."
  default     = "vllm/vllm-openai:v0.10.2"
}

variable "head" {
  type        = string
  description = "Image of the head."
  default     = "vllm/vllm-openai:v0.11.0"
}

variable "hf_token" {
  description = "Token of an account that has accepted the model's licence: PIPELINE_VAR_hf_token in the environment."
  default     = ""
  sensitive   = true
}

variable "quick" {
  type        = bool
  description = "A few cells of the sweep, for a rehearsal."
  default     = false
}

locals {
  short_requests = var.quick ? [32, 256] : [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]
  long_requests  = var.quick ? [16] : [1, 2, 4, 8, 16, 32, 64]
  single_lengths = var.quick ? [16000] : [16000, 32000, 64000, 120000]
}

server "vllm" "sut" {
  for_each = { base = var.base, head = var.head }
  image    = each.value
  version  = "0.11.0"
  model    = "meta-llama/Llama-3.1-8B-Instruct"
  gpus     = 1
  env      = { HF_TOKEN = var.hf_token }

  args = {
    max_model_len         = 131072
    enable_prefix_caching = false # a sweep over lengths must not find its own prompts again
  }

  container {
    network = "host"
    ipc     = "host"
    volumes = { hf-cache = "/root/.cache/huggingface" }
  }

  ready {
    timeout = "20m"
  }

  simulate {
    profile = "h100"
  }
}

dataset "random" "prompt" {
  input_len  = 80
  output_len = 64
}

# All requests at once: the batch grows with their number.
benchmark "batch" {
  description = "Prompts of 80 tokens, all at once"

  matrix {
    side     = ["base", "head"]
    requests = local.short_requests
  }

  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.prompt

  load {
    arrival  = "unlimited"
    requests = matrix.requests
  }

  warmup {
    requests = 4
  }

  repeat {
    min = 4
    max = 4
  }
}

benchmark "long" {
  description = "Prompts of 10,000 tokens, all at once"

  matrix {
    side     = ["base", "head"]
    requests = local.long_requests
  }

  target    = server.vllm.sut[matrix.side]
  dataset   = dataset.random.prompt
  input_len = 10000

  load {
    arrival  = "unlimited"
    requests = matrix.requests
  }

  warmup {
    requests = 1
  }

  repeat {
    min = 4
    max = 4
  }
}

benchmark "single" {
  description = "Very long prompts, one at a time"

  matrix {
    side      = ["base", "head"]
    input_len = local.single_lengths
  }

  target    = server.vllm.sut[matrix.side]
  dataset   = dataset.random.prompt
  input_len = matrix.input_len

  # One at a time, ten times: a mean of one request is no measurement.
  load {
    arrival         = "closed"
    max_concurrency = 1
    requests        = 10
  }

  warmup {
    requests = 1
  }

  repeat {
    min = 4
    max = 4
  }
}

baseline "paired" "main" {
  axis  = "side"
  value = "base"
}

# With all requests at once the rate does not fix the throughput, so it can be gated.
gate "batch" {
  benchmark = benchmark.batch
  baseline  = baseline.paired.main
  metrics   = [metric.output_throughput.mean, metric.ttft.mean, metric.tpot.mean]
  where     = matrix.requests >= 32
  margin    = "5%"
}

gate "long" {
  benchmark = benchmark.long
  baseline  = baseline.paired.main
  metrics   = [metric.total_throughput.mean, metric.ttft.mean]
  where     = matrix.requests >= 16
  margin    = "5%"
}

gate "single" {
  benchmark = benchmark.single
  baseline  = baseline.paired.main
  metrics   = [metric.ttft.mean]
  margin    = "10%"
}
