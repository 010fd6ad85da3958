# One comparison over three machines with Docker, so that what a single machine does to a change shows.
#
#   pipeline plan machines.pipeline.hcl --simulate=virtual                        # which repeats have which machine
#   pipeline run machines.pipeline.hcl --simulate=virtual                         # equal sides
#   pipeline run machines.pipeline.hcl --simulate=virtual --var change=10%        # a head that is slower everywhere
#   pipeline run machines.pipeline.hcl --simulate=virtual --var per_machine=12%   # slower on the second and third: not decided

pipeline {
  description = "Decode of an 8B model on three machines"

  docker {
    host {
      url = "ssh://gpu-a"
    }
    host {
      url = "ssh://gpu-b"
    }
    host {
      url = "ssh://gpu-c"
    }
  }

  machines {
    between = "3%" # what a change does differs by that; leave it out to judge these three alone
  }

  price {
    gpu_hour = "2.50 USD"
  }
}

variable "change" {
  type        = string
  description = "How much slower a rehearsal makes the head."
  default     = "0%"
}

variable "per_machine" {
  type        = string
  description = "How much slower a rehearsal makes the head on each machine after the first."
  default     = "0%"
}

server "vllm" "sut" {
  for_each = {
    base = "vllm/vllm-openai:v0.11.0"
    head = "registry.example.com/vllm:head"
  }
  image   = each.value
  version = "0.11.0"
  model   = "Qwen/Qwen3-8B"
  gpus    = 1

  container {
    volumes = { hf-cache = "/root/.cache/huggingface" }
  }

  # Read with --simulate only.
  simulate {
    profile      = "h100"
    startup      = "90s"
    launch_noise = "1%"
    slowdown     = each.key == "head" ? var.change : "0%"
    per_machine  = each.key == "head" ? var.per_machine : "0%"
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
    rate     = 4
    requests = 200
  }

  warmup { requests = 16 }

  repeat {
    min = 6
    max = 12
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
