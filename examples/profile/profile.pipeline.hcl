# Where did the time go? Two builds of vLLM are compared, and where the head is slower both start
# once more under torch's profiler.
#
#   pipeline run profile.pipeline.hcl --var head=/opt/vllm/my-change
#   pipeline run profile.pipeline.hcl --simulate=virtual        # a rehearsal, without a GPU

pipeline {
  description = "Is decoding slower, and which kernel is it"

  profile {
    window   = "3s"
    max_size = "256MiB"
  }
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

variable "slowdown" {
  type        = string
  description = "What the rehearsal plants in the head's attention."
  default     = "8%"
}

server "vllm" "sut" {
  for_each   = { base = var.base, head = var.head }
  executable = "${each.value}/.venv/bin/vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"

  args = {
    max_model_len = 4096
  }

  # Read with --simulate only: the head's attention takes longer.
  simulate {
    profile      = "h100"
    slowdown     = each.key == "head" ? var.slowdown : "0%"
    slow_op      = "attention"
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
    requests        = 200
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

gate "decoding" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.tpot.p50]
  margin    = "3%"
}
