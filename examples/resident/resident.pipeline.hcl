# Both sides of a repeat stay loaded and take turns, asleep in between. A 70B server on 8 GPUs takes
# minutes to start and seconds to wake.
#
#   pipeline plan resident.pipeline.hcl --simulate=virtual                  # what it launches, and what it may cost
#   pipeline run resident.pipeline.hcl --simulate=virtual                   # equal sides
#   pipeline run resident.pipeline.hcl --simulate=virtual --var change=10%  # a slower head

pipeline {
  description = "Decode of a 70B model, both sides resident"
  resident    = "sleep"

  price {
    gpu_hour = "2.50 USD"
  }
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

  args = {
    tensor_parallel_size    = 8
    max_model_len           = 4096
    enable_sleep_mode       = true
    gpu_memory_utilization  = 0.85  # of all memory: a server that sleeps still holds a few GB
    num_gpu_blocks_override = 20000 # the same KV cache, whichever side starts first
  }

  # Read with --simulate only.
  simulate {
    profile      = "h100"
    startup      = "4m"
    launch_noise = "1%"
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
    requests = 100
  }

  warmup { requests = 16 }

  repeat {
    min    = 4
    max    = 8
    passes = 2 # in each launch: base, head, head, base
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
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
