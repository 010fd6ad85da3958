# Which commit made the server slower? The file lies in a clone of the engine's repository.
#
#   pipeline bisect bisect.pipeline.hcl --good v0.11.0 --bad main
#
# Each commit that the search looks at is checked out and built on its own, apart from the work
# tree. The two variables get the sides of each pair, so the same file gates two builds by hand:
#
#   pipeline run bisect.pipeline.hcl --var base=/opt/vllm-0.11.0 --var head=$PWD

pipeline {
  description = "Which commit made decoding slower"

  bisect {
    good      = "base"
    candidate = "head"

    build {
      command = var.build
      timeout = "30m"
      disk    = "40GiB"
    }
  }
}

variable "build" {
  type        = list(string)
  description = "Command that builds vLLM in a checkout, into .venv."
  default     = ["sh", "-c", "uv venv --quiet .venv && VLLM_USE_PRECOMPILED=1 uv pip install --quiet --python .venv/bin/python ."]
}

variable "base" {
  type        = string
  description = "Folder of the build that is fast enough."
  default     = "/opt/vllm/base"
}

variable "head" {
  type        = string
  description = "Folder of the build that is compared with it."
  default     = "/opt/vllm/head"
}

server "vllm" "sut" {
  for_each   = { base = var.base, head = var.head }
  executable = "${each.value}/.venv/bin/vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"

  args = {
    max_model_len = 4096
  }

  # Read with --simulate only. The regression is in every build but the base.
  simulate {
    profile      = "h100"
    slowdown     = each.key == "head" ? "8%" : "0%"
    launch_noise = "1%"
  }
}

dataset "random" "chat" {
  input_len  = 512
  output_len = 128
}

benchmark "serving" {
  matrix {
    side = ["base", "head"]
  }

  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.chat

  load {
    max_concurrency = 8
    requests        = 400
  }

  repeat {
    min = 4
    max = 12
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "decoding" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.tpot.p50]
  margin    = "5%"
}
