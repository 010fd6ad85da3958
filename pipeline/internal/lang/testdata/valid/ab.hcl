# --var repeats=4
# --var token=correct-horse-battery
# Two sides of one server, with most of what the language has.

gate "latency" {
  description = "Order of blocks does not matter: the gate comes first."
  benchmark   = benchmark.serving
  baseline    = baseline.paired.base
  metrics     = [metric.ttft.p99, metric.tpot.median]
  where       = matrix.rate <= 4
  margin      = "5%"
  alpha       = 0.02
  strict      = true
}

gate "slo" {
  benchmark     = benchmark.serving
  on_regression = "warn"

  assert {
    condition     = self.errors == 0 && self.ttft.p99 < duration("800ms") * matrix.rate
    error_message = "TTFT p99 is ${self.ttft.p99} s at ${matrix.rate} req/s."
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

benchmark "serving" {
  description = "Open loop"
  seed        = 20260101
  timeout     = "30m"

  matrix {
    side = keys(local.sides)
    rate = var.quick ? [4] : [4, 8, 16]
    len  = [{ name = "short", tokens = 128 }, { name = "long", tokens = 1024 }]

    exclude {
      when = matrix.rate > 8 && matrix.len.name == "long"
    }
  }

  target      = server.vllm.sut[matrix.side]
  dataset     = dataset.random.text
  input_len   = matrix.len.tokens
  output_len  = { min = 8, max = 32 }
  temperature = 0.5
  body        = { top_p = 0.9, stop = ["x"], min_p = 1 }

  warmup {
    requests = 20
  }

  load {
    rate            = matrix.rate
    burstiness      = matrix.side == "head" ? 0.5 : 0.5
    max_concurrency = matrix.side == "head" ? 64 : 32
    requests        = 250 * matrix.rate

    ramp {
      from = 1
      over = "10s"
    }
  }

  repeat {
    max = var.repeats
  }

  limits {
    lag_p99    = "20ms"
    rate_share = "90%"
  }
}

dataset "random" "text" {
  output_len = 16
  prefix_len = 50
}

locals {
  sides = { base = false, head = true }
  args  = { seed = 0, max_model_len = 8192 }
}

server "vllm" "sut" {
  for_each = local.sides
  extends  = server.vllm.base
  args     = merge({ enable_chunked_prefill = each.value }, { block_size = 16 })
  env      = { SIDE = each.key, AUTH = "Bearer ${var.token}" }

  ready {
    interval = "500ms"
  }
}

server "vllm" "base" {
  abstract   = true
  executable = ["python3", "-m", "vllm.entrypoints.openai.api_server"]
  model      = "Qwen/Qwen2.5-7B-Instruct"
  gpus       = 2
  args       = merge(local.args, { kv = { role = "both" }, tags = ["a", "b"], none = null })
  env        = { HF_HUB_OFFLINE = 1 }
  api_key    = var.token

  ready {
    timeout = "5m"
  }

  simulate {
    profile  = "fast"
    slowdown = "8%"
    fail     = ["oom"]
  }
}

variable "repeats" {
  type    = number
  default = 5
}

variable "quick" {
  type    = bool
  default = false
}

variable "token" {
  type      = string
  sensitive = true
}

variable "shape" {
  type    = object({ a = string, b = optional(number, 7) })
  default = { a = "x" }
}

pipeline {
  description      = "A/B"
  required_version = ">= 0.1"
  alpha            = "5%"
  timeout          = "4h"
  lock             = "gpus"
}

report "github" "pr" {
  gates   = [gate.latency, gate.slo]
  rows    = ["rate", "len"]
  cols    = "side"
  comment = "hide-and-new"
  check   = ""
}

report "file" "all" {
  path    = "out"
  formats = ["markdown", "json"]
}
