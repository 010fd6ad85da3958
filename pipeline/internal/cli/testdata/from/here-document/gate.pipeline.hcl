# Base against head, from source.sh (a Kubernetes manifest).
# The source describes no load: dataset and load below are a start. Replace them by your own.
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=IMAGE
#
# 1 part was not carried over: see the end.

variable "base" {
  description = "Image from before the change."
  default     = "$${AWS_ACCOUNT_ID}.dkr.ecr.$${AWS_REGION}.amazonaws.com/vllm:arm64"
}

variable "head" {
  description = "Image with the change. The default only holds its place."
  default     = "$${AWS_ACCOUNT_ID}.dkr.ecr.$${AWS_REGION}.amazonaws.com/vllm:head"
}

variable "rehearsal" {
  description = "With --simulate only: how much slower the head is."
  default     = "0%"
}

server "vllm" "vllm_meta_llama_server" {
  for_each = { base = var.base, head = var.head }
  image    = each.value
  model    = "meta-llama/Llama-3.2-1B-Instruct"
  gpus     = 1
  # Not carried over: ports = [{"containerPort":8000}] (the launcher chooses the address, and publishes the port
  # on this machine alone)
  args = { max_num_batched_tokens = 2048, max_model_len = 2048 }

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

  target  = server.vllm.vllm_meta_llama_server[matrix.side]
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
# * server vllm_meta_llama_server: ports = [{"containerPort":8000}] (the launcher chooses the address, and
#   publishes the port on this machine alone)
