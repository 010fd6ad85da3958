# Speculative decoding that accepts less: n-grams of another length, by how many drafted tokens the
# model accepts.
#
#   pipeline run speculation.pipeline.hcl --simulate=virtual                          # equal: passes
#   pipeline run speculation.pipeline.hcl --simulate=virtual --var acceptance=68.3%   # 3 % shorter: a regression
#
# Drafts come from the text so far, so that no second model is needed.

pipeline {
  description = "Acceptance length of speculative decoding"
}

variable "repeats" {
  type        = number
  description = "Launches of each side."
  default     = 6
}

variable "lookup" {
  type        = number
  description = "Longest n-gram that the head looks up in the text so far."
  default     = 5
}

variable "acceptance" {
  type        = string
  description = "Chance that a rehearsal's head accepts a drafted token."
  default     = "70%"
}

server "vllm" "base" {
  abstract   = true
  executable = "vllm"
  version    = "0.11.0"
  model      = "Qwen/Qwen2.5-7B-Instruct"
  args       = { max_model_len = 4096 }
}

locals {
  speculation = { method = "ngram", num_speculative_tokens = 4 }
}

# The simulate blocks are read with --simulate only: on average 2.77 tokens a step.
server "vllm" "old" {
  extends = server.vllm.base
  args    = { speculative_config = merge(local.speculation, { prompt_lookup_max = 3 }) }
  simulate {
    profile    = "h100"
    acceptance = "70%"
  }
}

server "vllm" "new" {
  extends = server.vllm.base
  args    = { speculative_config = merge(local.speculation, { prompt_lookup_max = var.lookup }) }
  simulate {
    profile    = "h100"
    acceptance = var.acceptance
  }
}

dataset "random" "prompts" {
  input_len  = 256
  output_len = 128
}

benchmark "serving" {
  matrix { side = [server.vllm.old, server.vllm.new] }
  target  = matrix.side
  dataset = dataset.random.prompts
  seed    = 1
  load {
    rate     = 10
    requests = 300
  }
  warmup { requests = 8 }
  repeat { max = var.repeats }
}

baseline "paired" "old" {
  axis  = "side"
  value = server.vllm.old
}

gate "acceptance" {
  description = "Tokens that a verified step gives"
  benchmark   = benchmark.serving
  baseline    = baseline.paired.old
  metrics     = [metric.acceptance.length]
  margin      = "1.5%"
}

gate "speed" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.old
  metrics   = [metric.tpot.mean]
  margin    = "5%"
}

report "file" "all" {
  formats = ["markdown", "text", "json", "html"]
}
