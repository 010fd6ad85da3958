# Base against head: the image of the merge base and that of a pull request, launched in
# turn on one machine and compared pair by pair.
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a second, without a GPU
#   pipeline run gate.pipeline.hcl --var base=IMAGE --var head=IMAGE

pipeline {
  description = "The pull request against its merge base"
  lock        = "gpus" # one run at a time on this machine
}

variable "base" {
  description = "Image of the merge base: NAME:TAG, NAME@sha256:DIGEST or sha256:ID."
  default     = "vllm/vllm-openai:v0.10.2"
}

variable "head" {
  description = "Image of the change."
  default     = "vllm/vllm-openai:v0.11.0"
}

variable "model" {
  default = "Qwen/Qwen2.5-7B-Instruct"
}

variable "requests" {
  type        = number
  description = "Requests of one run. A p99 needs 1,000."
  default     = 1000
}

variable "repeats" {
  type        = number
  description = "Launches of each side, at most. The run ends earlier when all is decided."
  default     = 8
}

variable "rehearsal" {
  description = "With --simulate only: how much slower the head is, for trying out what is said then."
  default     = "0%"
}

variable "hf_token" {
  description = "Token of the model hub: PIPELINE_VAR_hf_token in the environment."
  default     = ""
  sensitive   = true
}

server "vllm" "sut" {
  for_each = {
    base = { image = var.base, slowdown = "0%" }
    head = { image = var.head, slowdown = var.rehearsal }
  }
  image = each.value.image
  model = var.model
  gpus  = 1
  env   = { HF_TOKEN = var.hf_token }

  container {
    volumes = { hf-cache = "/root/.cache/huggingface" } # the model is downloaded once
  }

  args = {
    max_model_len = 4096
  }

  simulate {
    profile  = "fast"
    slowdown = each.value.slowdown
  }
}

dataset "random" "chat" {
  input_len  = 512
  output_len = 64
}

benchmark "chat" {
  description = "Requests that arrive at random, as those of users do"

  matrix {
    side = ["base", "head"]
  }

  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.chat

  warmup {
    requests = 20
  }

  load {
    rate     = 8
    requests = var.requests
  }

  repeat {
    min = 4
    max = var.repeats
  }
}

baseline "paired" "merge_base" {
  axis  = "side"
  value = "base"
}

gate "latency" {
  description = "What users wait for: the first token, and each one after it"
  benchmark   = benchmark.chat
  baseline    = baseline.paired.merge_base
  metrics     = [metric.ttft.p50, metric.tpot.p50, metric.e2el.p50]
  margin      = "5%"
}

# One comment that is kept up to date, and a check run named pipeline/gate.
report "github" "gate" {
  comment = "update"
}

report "file" "machine" {
  formats = ["junit", "csv"]
}
