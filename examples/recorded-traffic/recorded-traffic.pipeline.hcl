# Traffic as it was recorded, base against head: a trace replayed at its own times, conversations, and ShareGPT.
#
#   pipeline run recorded-traffic.pipeline.hcl --var base=IMAGE --var head=IMAGE
#   pipeline run recorded-traffic.pipeline.hcl --simulate --time-scale 20

pipeline {
  description = "Replayed and chat-like traffic on one vLLM server"
  timeout     = "4h"
}

variable "base" {
  type        = string
  description = "Image of the base, best by its digest."
  default     = "vllm/vllm-openai:v0.10.2"
}

variable "head" {
  type        = string
  description = "Image of the head."
  default     = "vllm/vllm-openai:v0.11.0"
}

variable "hf_token" {
  description = "Token of an account that has accepted the model's licence: PIPELINE_VAR_hf_token in the environment."
  default     = ""
  sensitive   = true
}

server "vllm" "sut" {
  for_each = { base = var.base, head = var.head }
  image    = each.value
  version  = "0.11.0"
  model    = "meta-llama/Llama-3.1-8B-Instruct"
  gpus     = 1
  env      = { HF_TOKEN = var.hf_token }

  container {
    network = "host"
    ipc     = "host"
    volumes = { hf-cache = "/root/.cache/huggingface" }
  }

  ready {
    timeout = "20m"
  }

  simulate {
    profile = "h100"
  }
}

# Mooncake's form; BurstGPT's CSV is read as well. Blocks of one hash have one content, so the prefix cache finds what it
# found in the recorded service.
dataset "trace" "recorded" {
  path = "trace.jsonl"
}

# Turns of conversations with a shared system prompt, each request with all that was said before it.
dataset "chat" "assistant" {
  input_len  = { min = 40, max = 200 }
  output_len = { min = 20, max = 120 }
  system_len = 400
  turns      = 5
  users      = 24
}

# The file is not part of this example: `validate` says where it comes from, and --simulate does without it.
dataset "sharegpt" "questions" {
  path = "ShareGPT_V3_unfiltered_cleaned_split.json"
}

benchmark "replay" {
  description = "The trace at its own times"
  target      = server.vllm.sut[matrix.side]
  dataset     = dataset.trace.recorded

  matrix {
    side = ["base", "head"]
  }

  warmup {
    requests = 8
  }

  load {
    arrival  = "trace"
    requests = 240
  }

  repeat {
    min = 4
    max = 8
  }
}

benchmark "conversations" {
  description = "24 users who think for two seconds between an answer and the next question"
  target      = server.vllm.sut[matrix.side]
  dataset     = dataset.chat.assistant
  endpoint    = "chat"

  matrix {
    side = ["base", "head"]
  }

  load {
    arrival         = "closed"
    max_concurrency = 24
    think_time      = "2s"
    requests        = 240
  }

  repeat {
    min = 4
    max = 8
  }
}

benchmark "sharegpt" {
  description = "ShareGPT's first turns at a steady rate"
  target      = server.vllm.sut[matrix.side]
  dataset     = dataset.sharegpt.questions

  matrix {
    side = ["base", "head"]
  }

  load {
    rate     = 4
    requests = 300
  }

  repeat {
    min = 4
    max = 8
  }

  # A client that was busier than this measured itself.
  limits {
    cpu_share = "80%"
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "replay" {
  benchmark = benchmark.replay
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.mean]
  margin    = "8%"
}

gate "conversations" {
  benchmark = benchmark.conversations
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.mean]
  margin    = "8%"
}

gate "sharegpt" {
  benchmark = benchmark.sharegpt
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.mean, metric.tpot.mean]
  margin    = "8%"
}
