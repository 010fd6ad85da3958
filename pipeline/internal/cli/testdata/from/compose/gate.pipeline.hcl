# Base against head, from source.yaml (a compose file).
# The source describes no load: dataset and load below are a start. Replace them by your own.
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=IMAGE
#
# 5 parts were not carried over: see the end.

variable "base" {
  description = "Image from before the change."
  default     = "lmsysorg/sglang:latest"
}

variable "head" {
  description = "Image with the change. The default only holds its place."
  default     = "lmsysorg/sglang:head"
}

variable "rehearsal" {
  description = "With --simulate only: how much slower the head is."
  default     = "0%"
}

variable "home" {
  description = "Home folder of the machine that runs the servers."
  default     = "/root"
}

variable "hf_token" {
  description = "HF_TOKEN: PIPELINE_VAR_hf_token in the environment."
  default     = ""
  sensitive   = true
}

server "sglang" "sglang" {
  for_each = { base = var.base, head = var.head }
  image    = each.value
  model    = "meta-llama/Meta-Llama-3.1-8B-Instruct"
  gpus     = 1
  port     = 30000
  # Not carried over: the value of HF_TOKEN (secrets do not belong in the file: set PIPELINE_VAR_hf_token)
  # Not carried over: container_name: sglang (containers get names of their own)
  # Not carried over: restart: always (a server that ends has failed)
  # Not carried over: healthcheck = {"test":["CMD-SHELL","curl -f http://localhost:30000/health || exit 1"]}
  # (the server is asked whether it is ready)
  # Not carried over: --host 0.0.0.0 (the launcher chooses the address)
  env = { HF_TOKEN = var.hf_token }

  container {
    mounts  = ["${var.home}/.cache/huggingface:/root/.cache/huggingface"]
    ipc     = "host"
    network = "host"
    ulimits = { memlock = "-1", stack = "67108864" }
    gpus    = ["0"]
  }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

dataset "random" "chat" {
  input_len  = 512
  output_len = 64
}

benchmark "chat" {
  matrix {
    side = ["base", "head"]
  }

  target  = server.sglang.sglang[matrix.side]
  dataset = dataset.random.chat

  warmup {
    requests = 20
  }

  load {
    rate     = 4
    requests = 200
  }

  repeat {
    min = 4
    max = 8
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "latency" {
  benchmark = benchmark.chat
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50, metric.e2el.p50]
  margin    = "5%"
}

# Not carried over:
# * server sglang: the value of HF_TOKEN (secrets do not belong in the file: set PIPELINE_VAR_hf_token)
# * server sglang: container_name: sglang (containers get names of their own)
# * server sglang: restart: always (a server that ends has failed)
# * server sglang: healthcheck = {"test":["CMD-SHELL","curl -f http://localhost:30000/health || exit 1"]} (the
#   server is asked whether it is ready)
# * server sglang: --host 0.0.0.0 (the launcher chooses the address)
