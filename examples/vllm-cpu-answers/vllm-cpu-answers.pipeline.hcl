# Does a head answer as its base does? A real vLLM on the CPU whose head is altered in one way.
#
#   ./setup.sh                                    # installs vLLM and trains a small model, once
#   pipeline run vllm-cpu-answers.pipeline.hcl    # another dtype: a regression
#   pipeline run vllm-cpu-answers.pipeline.hcl --var altered=nothing --allow-identical
#
# campaign.py runs many sessions and prints a line for each.

pipeline {
  description = "Answers of a vLLM on CPU, with the head altered: ${var.altered}"
}

variable "vllm" {
  type        = string
  description = "Program that starts vLLM, or vllm-fork beside it."
  default     = ".venv-vllm/bin/vllm"
}

variable "prepared" {
  type        = string
  description = "Socket of a running vllm-fork --prepare, which starts vllm-fork in a fifth of the time."
  default     = ""
}

variable "models" {
  type        = string
  description = "Folder that train_model.py filled."
  default     = ".venv-vllm/answers"
}

variable "altered" {
  type        = string
  description = "What is altered in the head: nothing, dtype, weight, template or penalty."
  default     = "dtype"

  validation {
    condition     = contains(["nothing", "dtype", "weight", "template", "penalty"], var.altered)
    error_message = "altered is nothing, dtype, weight, template or penalty."
  }
}

variable "repeats" {
  type        = number
  description = "Launches of each side."
  default     = 4
}

variable "requests" {
  type        = number
  description = "Questions that each launch is asked."
  default     = 96
}

locals {
  heads = {
    nothing  = {}
    dtype    = { dtype = "float32" }
    weight   = {}
    template = { chat_template = "${var.models}/template.jinja" }
    penalty  = { override_generation_config = jsonencode({ repetition_penalty = 1.05 }) }
  }
}

server "vllm" "sut" {
  for_each    = { base = {}, head = local.heads[var.altered] }
  executable  = var.vllm
  model       = each.key == "head" && var.altered == "weight" ? "${var.models}/weight" : "${var.models}/model"
  served_name = "talker"
  version     = "0.32.0"

  args = merge({
    dtype         = "bfloat16"
    max_model_len = 1024
    max_num_seqs  = 16
    enforce_eager = true
    seed          = 0
  }, each.value)

  env = merge({
    HF_HUB_OFFLINE         = "1"
    VLLM_CPU_KVCACHE_SPACE = "1" # GiB
    VLLM_NO_USAGE_STATS    = "1"
  }, var.prepared == "" ? {} : { VLLM_FORK = var.prepared })

  ready {
    timeout  = "10m"
    interval = "500ms"
  }

  # Read with --simulate only.
  simulate {
    profile = "fast"
    corrupt = each.key == "head" && var.altered != "nothing" ? "20%" : "0%"
  }
}

dataset "file" "questions" {
  path       = "prompts.jsonl"
  output_len = 48
  rotate     = false
}

# Eight at once: what shares a batch may change an answer, as it does in use.
answers "same" {
  matrix {
    side = ["base", "head"]
  }

  target      = server.vllm.sut[matrix.side]
  dataset     = dataset.file.questions
  endpoint    = "chat"
  requests    = var.requests
  concurrency = 8

  repeat {
    max = var.repeats
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "words" {
  description = "Questions that the head answers as the base does"
  benchmark   = answers.same
  baseline    = baseline.paired.base
  metrics     = [metric.agreement.share]
  margin      = "3pp"
}

gate "probabilities" {
  description = "How sure it is of the words on which both agree"
  benchmark   = answers.same
  baseline    = baseline.paired.base
  metrics     = [metric.logprob_difference.mean]
  margin      = "0.002 nats"
}

report "file" "all" {
  formats = ["markdown", "text", "json"]
}
