# What a verdict costs. A 70B server on 8 GPUs takes minutes to start, so that most of the bill is
# start-up, and machines have a price.
#
#   pipeline plan budget.pipeline.hcl --simulate=virtual                    # what it may cost, and what that buys
#   pipeline plan budget.pipeline.hcl --simulate=virtual --var "budget=9 USD" # refused: the smallest that decides
#   pipeline run budget.pipeline.hcl --simulate=virtual                     # equal sides
#   pipeline run budget.pipeline.hcl --simulate=virtual --var change=10%    # a slower head

pipeline {
  description = "Prefill and decode of a 70B model"

  price {
    gpu_hour = "2.50 USD"
  }

  budget {
    cost = var.budget
  }
}

variable "budget" {
  type        = string
  description = "What a run may cost."
  default     = "36 USD"
}

variable "change" {
  type        = string
  description = "How much slower a rehearsal makes the head."
  default     = "0%"
}

server "vllm" "sut" {
  for_each   = { base = "/opt/vllm/base", head = "/opt/vllm/head" }
  executable = "${each.value}/bin/vllm"
  version    = "0.11.0"
  model      = "meta-llama/Llama-3.3-70B-Instruct"
  gpus       = 8
  args       = { tensor_parallel_size = 8, max_model_len = 4096 }

  # Read with --simulate only.
  simulate {
    profile      = "h100"
    startup      = "4m"
    launch_noise = "1.5%"
    slowdown     = each.key == "head" ? var.change : "0%"
  }
}

dataset "random" "chat" {
  input_len  = 512
  output_len = 128
}

benchmark "serving" {
  matrix {
    side = ["base", "head"]
    rate = [2, 6]
  }

  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.chat

  load {
    rate     = matrix.rate
    requests = 200
  }

  warmup { requests = 16 }

  repeat {
    min = 4
    max = 12
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "prefill" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50]
  margin    = "8%"
}

gate "decode" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.tpot.p50]
  margin    = "5%"
}

report "file" "all" {
  formats = ["markdown", "text", "json", "html"]
}
