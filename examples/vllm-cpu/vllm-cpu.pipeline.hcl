# A real vLLM on the CPU, three sides: a base, the same again, and one that may hold only
# one sequence at a time. At this rate the third one falls behind.
#
#   ./setup.sh                          # installs vLLM and writes a tiny model, once
#   pipeline run vllm-cpu.pipeline.hcl
#
# The second side shows what the gate says where nothing changed.

pipeline {
  description = "vLLM on CPU: base, the same again, and one sequence at a time"
}

variable "venv" {
  type        = string
  description = "Folder that setup.sh filled."
  default     = ".venv-vllm"
}

variable "repeats" {
  type        = number
  description = "Launches of each side."
  default     = 4
}

locals {
  sides = {
    base  = { max_num_seqs = 64 }
    again = { max_num_seqs = 64 }
    one   = { max_num_seqs = 1 }
  }
}

server "vllm" "sut" {
  for_each    = local.sides
  executable  = "${var.venv}/bin/vllm"
  model       = "${var.venv}/model"
  served_name = "tiny"
  version     = "0.32.0"

  args = merge({
    dtype         = "bfloat16"
    max_model_len = 2048
    enforce_eager = true
    seed          = 0
  }, each.value)

  env = {
    HF_HUB_OFFLINE         = "1"
    VLLM_SERVER_DEV_MODE   = "1" # lets the cache be reset between runs
    VLLM_CPU_KVCACHE_SPACE = "1" # GiB
    VLLM_NO_USAGE_STATS    = "1"
  }

  ready {
    timeout  = "10m"
    interval = "1s"
  }

  simulate {
    profile = "fast"
  }
}

dataset "random" "short" {
  input_len  = 64
  output_len = 32
}

benchmark "queue" {
  description = "Short prompts at a rate that one sequence at a time cannot keep up with"

  matrix {
    side = ["base", "again", "one"]
  }

  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short

  load {
    arrival  = "poisson"
    rate     = 40
    requests = 160
  }

  warmup {
    requests = 20
  }

  # The client shares two cores with the server here, so it is allowed to be late.
  limits {
    lag_p99 = "100ms"
  }

  repeat {
    min = var.repeats
    max = var.repeats
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "latency" {
  description = "Mean time to the first token and to the last"
  benchmark   = benchmark.queue
  baseline    = baseline.paired.base
  metrics     = [metric.ttft.mean, metric.e2el.mean]
  margin      = "20%"
}

gate "answers" {
  description = "Every request is answered"
  benchmark   = benchmark.queue

  assert {
    condition     = self.errors == 0
    error_message = "${self.errors} of ${self.requests} requests failed."
  }
}

report "file" "all" {
  formats = ["markdown", "text", "json"]
}
