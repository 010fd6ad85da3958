# A real prefill/decode pair of vLLM on the CPU, beside one server and beside two replicas.
#
#   ./setup.sh                             # installs vLLM, NIXL and a tiny model, once
#   pipeline run vllm-cpu-pd.pipeline.hcl
#
# Every run of a pair must prove by the servers' own counters that its KV cache moved.

pipeline {
  description = "vLLM on CPU: one server, two replicas, and pairs by files and by NIXL"
}

variable "venv" {
  type        = string
  description = "Folder that setup.sh filled."
  default     = "../vllm-cpu/.venv-vllm"
}

variable "repeats" {
  type        = number
  description = "Launches of each side."
  default     = 3
}

variable "requests" {
  type        = number
  description = "Requests of a run."
  default     = 60
}

variable "folder" {
  type        = string
  description = "Where the pair by files keeps its KV cache. It is removed before the run."
  default     = "/tmp/pipeline-vllm-cpu-pd"
}

# Files of an earlier run would be found by their content, and nothing prefilled.
step "exec" "folder" {
  command = ["rm", "-rf", var.folder]
}

server "vllm" "base" {
  abstract    = true # a template: extended, never launched
  executable  = "${var.venv}/bin/vllm"
  model       = "${var.venv}/model"
  served_name = "tiny"
  version     = "0.32.0"

  args = {
    dtype                  = "bfloat16"
    max_model_len          = 2048
    max_num_batched_tokens = 8192 # the connector of files stores prompts that are computed in one piece
    block_size             = 32
    enforce_eager          = true
    seed                   = 0
  }

  env = {
    HF_HUB_OFFLINE         = "1"
    VLLM_SERVER_DEV_MODE   = "1" # lets the cache be reset between runs
    VLLM_CPU_KVCACHE_SPACE = "1" # GiB
    VLLM_NO_USAGE_STATS    = "1"
  }

  ready {
    timeout  = "10m"
    interval = "1s"
  }

  simulate {
    profile = "fast"
  }
}

server "vllm" "one" {
  extends = server.vllm.base
}

# In all that follows each server has a core of its own: threads that share cores wait for
# each other, and everything takes a hundred times as long.
locals {
  core = [{ VLLM_CPU_OMP_THREADS_BIND = "0" }, { VLLM_CPU_OMP_THREADS_BIND = "1" }]
}

# The control with as many servers as a pair has.
deployment "replicas" {
  server "vllm" "first" {
    extends = server.vllm.base
    env     = local.core[0]
  }

  server "vllm" "second" {
    extends = server.vllm.base
    env     = local.core[1]
  }

  router "round_robin" {
    decode = [self.server.first, self.server.second]
  }
}

# Prefill writes the KV cache into files, decode reads them.
deployment "files" {
  kv_transfer "example" {
    path = var.folder
  }

  server "vllm" "prefill" {
    extends = server.vllm.base
    role    = "producer"
    env     = local.core[0]
  }

  server "vllm" "decode" {
    extends = server.vllm.base
    role    = "consumer"
    env     = local.core[1]
  }

  router "v0" {
    prefill = [self.server.prefill]
    decode  = [self.server.decode]
  }
}

# Decode reads prefill's memory through UCX, over TCP.
deployment "nixl" {
  kv_transfer "nixl" {
    transport = "tcp"
    config    = { kv_buffer_device = "cpu" }
  }

  server "vllm" "prefill" {
    extends = server.vllm.base
    role    = "producer"
    env     = local.core[0]
  }

  server "vllm" "decode" {
    extends = server.vllm.base
    role    = "consumer"
    env     = local.core[1]
  }

  router "nixl" {
    prefill = [self.server.prefill]
    decode  = [self.server.decode]
  }
}

dataset "random" "prompts" {
  input_len  = 640
  output_len = 32
}

benchmark "pairs" {
  description = "Prompts of 640 tokens, one at a time on average"

  matrix {
    side = [server.vllm.one, deployment.replicas, deployment.files, deployment.nixl]
  }

  target  = matrix.side
  dataset = dataset.random.prompts

  load {
    arrival  = "poisson"
    rate     = 4
    requests = var.requests
  }

  warmup {
    requests = 10
  }

  # The client shares two cores with the servers here, so it is allowed to be late.
  limits {
    lag_p99 = "1s"
  }

  repeat {
    min = var.repeats
    max = var.repeats
  }
}

baseline "paired" "one" {
  axis  = "side"
  value = server.vllm.one
}

# Two servers on the cores of one are slower: said, and no failure.
gate "latency" {
  description   = "Mean time to the first token and to the last"
  benchmark     = benchmark.pairs
  baseline      = baseline.paired.one
  metrics       = [metric.ttft.mean, metric.e2el.mean]
  margin        = "20%"
  on_regression = "warn"
}

gate "answers" {
  description = "Every request is answered"
  benchmark   = benchmark.pairs

  assert {
    condition     = self.errors == 0
    error_message = "${self.errors} of ${self.requests} requests failed."
  }
}

report "file" "all" {
  formats = ["markdown", "text", "json"]
}
