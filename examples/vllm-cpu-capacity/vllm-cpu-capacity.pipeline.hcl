# How many requests per second does a vLLM on the CPU carry within an SLO, and how many with a
# smaller budget of tokens for each step, which cuts its prompts into pieces?
#
#   ../vllm-cpu/setup.sh                          # installs vLLM and writes a tiny model, once
#   pipeline run vllm-cpu-capacity.pipeline.hcl

pipeline {
  description = "Capacity of a vLLM on CPU with prompts whole and in pieces"
}

variable "venv" {
  type        = string
  description = "Folder that ../vllm-cpu/setup.sh filled."
  default     = "../vllm-cpu/.venv-vllm"
}

variable "prepared" {
  type        = string
  description = "Socket of a running vllm-fork --prepare; none unless set."
  default     = ""
}

variable "head" {
  type        = number
  description = "Tokens that a step of the head may take."
  default     = 64
}

variable "max" {
  type        = number
  description = "Highest rate that is searched, in requests per second."
  default     = 256
}

variable "repeats" {
  type        = number
  description = "Launches of each side."
  default     = 4
}

server "vllm" "sut" {
  for_each    = { base = 2048, head = var.head }
  executable  = "${var.venv}/bin/vllm-fork"
  model       = "${var.venv}/model"
  served_name = "tiny"
  version     = "0.32.0"

  args = {
    dtype                  = "bfloat16"
    max_model_len          = 2048
    max_num_seqs           = 64
    max_num_batched_tokens = each.value
    enforce_eager          = true
    seed                   = 0
  }

  env = merge({
    HF_HUB_OFFLINE         = "1"
    VLLM_SERVER_DEV_MODE   = "1" # lets the cache be reset between probes
    VLLM_CPU_KVCACHE_SPACE = "1" # GiB
    VLLM_NO_USAGE_STATS    = "1"
  }, var.prepared == "" ? {} : { VLLM_FORK = var.prepared })

  ready {
    timeout  = "10m"
    interval = "500ms"
  }

  simulate {
    profile = "fast"
  }
}

dataset "random" "long_prompts" {
  input_len  = 512
  output_len = 8
}

benchmark "serving" {
  description = "Long prompts, short answers, at the highest rate within the SLO"

  matrix {
    side = ["base", "head"]
  }

  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.long_prompts
  seed    = 1

  load {
    requests = 200 # of each probe

    search {
      min        = 4
      max        = var.max
      resolution = "5%" # launches differ by more here

      slo {
        metric = metric.ttft.p50
        limit  = "500ms"
      }
    }
  }

  warmup {
    requests = 40 # the first ones of a process take seconds
  }

  # The client shares two cores with the server here, so it is allowed to be late.
  limits {
    lag_p99 = "100ms"
  }

  repeat {
    max = var.repeats
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "capacity" {
  description = "Requests per second within the SLO"
  benchmark   = benchmark.serving
  baseline    = baseline.paired.base
  metrics     = [metric.capacity.rate]
  margin      = "10%"
}

report "file" "all" {
  formats = ["markdown", "text", "json", "html"]
}
