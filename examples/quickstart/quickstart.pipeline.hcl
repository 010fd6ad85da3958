# Chunks of 2,048 tokens against chunks of 128: the same server twice, one flag apart.
#
#   pipeline run quickstart.pipeline.hcl --simulate=virtual
#
# max_num_batched_tokens is how many tokens vLLM computes in a step. Prompts that are longer
# are cut into chunks, which share their steps with running answers. Small chunks delay these
# less, so the time per output token falls; but a prompt needs more steps, so its first token
# comes later. Which of the two is "slower" is for the gate to say, so a gate names its metric.

pipeline {
  description = "Chunks of 2,048 tokens against chunks of 128"
}

variable "repeats" {
  type        = number
  description = "Launches of each side."
  default     = 4
}

variable "head" {
  type        = number
  description = "Tokens in a step of the head; 2048 compares two equal sides."
  default     = 128
}

server "vllm" "base" {
  abstract   = true # a template: extended, never launched
  executable = "vllm"
  version    = "0.33.0"
  model      = "Qwen/Qwen2.5-7B-Instruct"

  args = {
    max_model_len = 4096
  }

  # Read with --simulate only.
  simulate {
    profile = "fast"
  }
}

server "vllm" "sut" {
  for_each = { base = 2048, head = var.head }
  extends  = server.vllm.base
  args     = { max_num_batched_tokens = each.value }
}

dataset "random" "long_prompts" {
  input_len  = 1024
  output_len = 8
}

benchmark "serving" {
  description = "Long prompts, short answers, open loop"

  matrix {
    side = ["base", "head"]
    rate = [8, 10]
  }

  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.long_prompts

  load {
    arrival  = "poisson"
    rate     = matrix.rate
    requests = 40
  }

  warmup {
    requests = 4
  }

  repeat {
    min = var.repeats
    max = var.repeats
  }
}

baseline "paired" "large" {
  axis  = "side"
  value = "base"
}

gate "first_token" {
  description = "The median time to the first token, what a reader waits for"
  benchmark   = benchmark.serving
  baseline    = baseline.paired.large
  metrics     = [metric.ttft.p50]
  margin      = "5%"
}

gate "next_tokens" {
  description = "The mean time per output token, which stalls dominate"
  benchmark   = benchmark.serving
  baseline    = baseline.paired.large
  metrics     = [metric.tpot.mean]
  margin      = "5%"
}

report "file" "all" {
  formats = ["markdown", "text", "json"]
}
