# Faster must not mean wrong: a new kernel against the old one, by its speed and by what it answers.
#
#   pipeline run answers.pipeline.hcl --simulate=virtual                      # equal: passes
#   pipeline run answers.pipeline.hcl --simulate=virtual --var corrupt=2%     # 2 % wrong answers: a regression
#
# Two launches of one engine do not answer alike to the last token either: the noise floor is what
# the base's own launches differ by, and it is measured in the same session.

pipeline {
  description = "Speed and answers of a new attention backend"
}

variable "repeats" {
  type        = number
  description = "Launches of each side."
  default     = 6
}

variable "backend" {
  type        = string
  description = "Attention backend of the head."
  default     = "FLASHINFER"
}

variable "corrupt" {
  type        = string
  description = "Share of wrong answers that is planted in the head of a rehearsal."
  default     = "0%"
}

variable "divergence" {
  type        = string
  description = "Share of prompts that each launch of a rehearsal answers otherwise than the next."
  default     = "1%"
}

server "vllm" "base" {
  abstract   = true
  executable = "vllm"
  version    = "0.11.0"
  model      = "Qwen/Qwen2.5-7B-Instruct"
  args       = { max_model_len = 4096 }
}

# Read with --simulate only: launches that differ in a share of prompts.
server "vllm" "old" {
  extends = server.vllm.base
  env     = { VLLM_ATTENTION_BACKEND = "FLASH_ATTN" }
  simulate {
    profile    = "h100"
    divergence = var.divergence
  }
}

server "vllm" "new" {
  extends = server.vllm.base
  env     = { VLLM_ATTENTION_BACKEND = var.backend }
  simulate {
    profile    = "h100"
    divergence = var.divergence
    corrupt    = var.corrupt
  }
}

dataset "random" "prompts" {
  input_len  = 256
  output_len = 64
}

benchmark "serving" {
  matrix { side = [server.vllm.old, server.vllm.new] }
  target  = matrix.side
  dataset = dataset.random.prompts
  seed    = 1
  load {
    rate     = 10
    requests = 200
  }
  warmup { requests = 8 }
  repeat { max = var.repeats }
}

# Greedy answers to the same prompts in every launch, outside of what is measured.
answers "same" {
  matrix { side = [server.vllm.old, server.vllm.new] }
  target      = matrix.side
  dataset     = dataset.random.prompts
  requests    = 1000
  concurrency = 16
}

baseline "paired" "old" {
  axis  = "side"
  value = server.vllm.old
}

gate "speed" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.old
  metrics   = [metric.tpot.mean, metric.ttft.p50]
  margin    = "5%"
}

gate "same_answers" {
  description = "Prompts that the new backend answers as the old one does"
  benchmark   = answers.same
  baseline    = baseline.paired.old
  metrics     = [metric.agreement.share]
  margin      = "1pp"
}

gate "same_probabilities" {
  description = "How sure it is of the tokens on which both agree"
  benchmark   = answers.same
  baseline    = baseline.paired.old
  metrics     = [metric.logprob_difference.mean]
  margin      = "0.005 nats"
}

report "file" "all" {
  formats = ["markdown", "text", "json", "html"]
}
