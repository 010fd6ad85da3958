# Four repeats at a time on one machine with eight GPUs, where a server takes two.
#
#   pipeline plan lanes.pipeline.hcl --simulate=virtual                       # what lanes save, and what it takes to see that they may
#   pipeline run lanes.pipeline.hcl --simulate=virtual                        # equal sides
#   pipeline run lanes.pipeline.hcl --simulate=virtual --var change=8%        # a slower head
#   pipeline run lanes.pipeline.hcl --simulate=virtual --var interference=3%  # lanes that slow each other are refused

pipeline {
  description = "Prefill and decode of a 32B model, in lanes"

  lanes {
    lane {
      cores  = "0-23"
      memory = "0"
      gpus   = ["0", "1"]
      nics   = ["mlx5_0"]
    }
    lane {
      cores  = "24-47"
      memory = "0"
      gpus   = ["2", "3"]
      nics   = ["mlx5_1"]
    }
    lane {
      cores  = "56-79"
      memory = "1"
      gpus   = ["4", "5"]
      nics   = ["mlx5_2"]
    }
    lane {
      cores  = "80-103"
      memory = "1"
      gpus   = ["6", "7"]
      nics   = ["mlx5_3"]
    }
  }

  price {
    machine_hour = "20 USD"
  }
}

variable "change" {
  type        = string
  description = "How much slower a rehearsal makes the head."
  default     = "0%"
}

variable "interference" {
  type        = string
  description = "How much a busy lane slows each other one in a rehearsal."
  default     = "0.1%"
}

server "vllm" "sut" {
  for_each   = { base = "/opt/vllm/base", head = "/opt/vllm/head" }
  executable = "${each.value}/bin/vllm"
  version    = "0.11.0"
  model      = "Qwen/Qwen3-32B"
  gpus       = 2
  args       = { tensor_parallel_size = 2, max_model_len = 4096 }

  # Read with --simulate only.
  simulate {
    profile      = "h100"
    startup      = "2m"
    launch_noise = "1.5%"
    slowdown     = each.key == "head" ? var.change : "0%"
    interference = var.interference
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
