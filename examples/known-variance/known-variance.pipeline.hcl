# Fewer launches where the machine's noise is known: pairs are judged with what a calibration has
# found beside what they show themselves, from two repeats on.
#
#   pipeline calibrate known-variance.pipeline.hcl       # once, and when the machine changes
#   pipeline run known-variance.pipeline.hcl
#
# Both with --simulate=virtual show it on a model, in seconds.

pipeline {
  description = "A release candidate, judged with a calibrated spread"

  # The newest calibration of the history on such a machine. The spread of pairs may be 1.5 times as
  # large today, and the error rates hold.
  variance {
    within = 1.5
  }
}

variable "candidate" {
  type        = string
  description = "Container image of the head."
  default     = "vllm/vllm-openai:v0.11.1"
}

variable "slower" {
  type        = string
  description = "By how much the steps of the head are slower in a rehearsal."
  default     = "0%"
}

server "vllm" "base" {
  abstract = true
  model    = "Qwen/Qwen2.5-7B-Instruct"
  args     = { max_model_len = 4096 }

  container {
    volumes = { hf-cache = "/root/.cache/huggingface" }
  }
}

server "vllm" "release" {
  extends = server.vllm.base
  image   = "vllm/vllm-openai:v0.11.0"
  simulate {
    profile = "h100"
    noise   = "1%"
  }
}

server "vllm" "candidate" {
  extends = server.vllm.base
  image   = var.candidate
  simulate {
    profile  = "h100"
    noise    = "1%"
    slowdown = var.slower
  }
}

dataset "random" "prompts" {
  input_len  = 512
  output_len = 128
}

benchmark "serving" {
  matrix { side = [server.vllm.release, server.vllm.candidate] }
  target  = matrix.side
  dataset = dataset.random.prompts
  seed    = 1
  load {
    rate     = 4
    requests = 200
  }
  warmup { requests = 8 }
  repeat {
    min = 2 # 4 without a known spread
    max = 12
  }
}

baseline "paired" "release" {
  axis  = "side"
  value = server.vllm.release
}

gate "latency" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.release
  metrics   = [metric.ttft.mean, metric.tpot.mean, metric.itl.p95, metric.e2el.mean]
  margin    = "5%"
}

report "file" "all" {
  formats = ["markdown", "text", "json", "html"]
}
