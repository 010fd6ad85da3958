# Twenty minutes of ShareGPT at 4 requests per second on one server, base against head.
#
#   pipeline run sharegpt-soak.pipeline.hcl --var base=IMAGE --var head=IMAGE
#   pipeline run sharegpt-soak.pipeline.hcl --simulate --time-scale 10 --var minutes=5

pipeline {
  description = "ShareGPT soak of one vLLM server"
  timeout     = "5h"
}

variable "base" {
  type        = string
  description = "Image of the base, best by its digest."
  default     = "vllm/vllm-openai:v0.8.5"
}

variable "head" {
  type        = string
  description = "Image of the head."
  default     = "vllm/vllm-openai:v0.9.2"
}

variable "minutes" {
  type        = number
  description = "How long each run lasts."
  default     = 20

  validation {
    condition     = var.minutes >= 5
    error_message = "The p99 of a run needs 1,000 requests: at 4 a second, 5 minutes."
  }
}

server "vllm" "sut" {
  for_each = { base = var.base, head = var.head }
  image    = each.value
  version  = "0.8.5"
  model    = "facebook/opt-6.7b"
  gpus     = 1

  container {
    network = "host"
    ipc     = "host"
    volumes = { "hf-cache-${each.key}" = "/root/.cache/huggingface" } # each its own, since starts are compared
  }

  ready {
    timeout = "15m"
  }

  simulate {
    profile = "h100"
  }
}

# The first turn of each conversation and the length of its answer, filtered as `vllm bench serve` does. The model takes
# 2,048 tokens in all.
dataset "sharegpt" "conversations" {
  path = "ShareGPT_V3_unfiltered_cleaned_split.json"
}

benchmark "soak" {
  description = "ShareGPT, Poisson arrivals at 4/s"

  matrix {
    side = ["base", "head"]
  }

  target     = server.vllm.sut[matrix.side]
  dataset    = dataset.sharegpt.conversations
  ignore_eos = true

  load {
    arrival  = "poisson"
    rate     = 4
    duration = "${var.minutes}m"
  }

  warmup {
    requests = 8
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

gate "latency" {
  benchmark = benchmark.soak
  baseline  = baseline.paired.main
  metrics   = [metric.ttft.p50, metric.ttft.p99, metric.tpot.p50, metric.itl.p99, metric.e2el.p50]
  margin    = "10%"
}

# What a launch is worth: how fast the server is there, and how many tokens it holds at once.
gate "launch" {
  benchmark = benchmark.soak
  baseline  = baseline.paired.main
  metrics   = [metric.startup.time, metric.kv_cache.tokens]
  margin    = "20%"
}

# A soak is for what breaks after a while.
gate "steady" {
  benchmark = benchmark.soak

  assert {
    condition     = self.errors == 0 && self.e2el.p99 < 90
    error_message = "${self.errors} of ${self.requests} requests failed; E2EL p99 ${self.e2el.p99} s."
  }
}
