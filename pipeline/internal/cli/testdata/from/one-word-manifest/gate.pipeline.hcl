# Base against head, from source.yaml (a Kubernetes manifest).
# The source describes no load: dataset and load below are a start. Replace them by your own.
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=IMAGE
#
# 2 parts were not carried over: see the end.

variable "base" {
  description = "Image from before the change."
  default     = "vllm/vllm-openai:0.4.1"
}

variable "head" {
  description = "Image with the change. The default only holds its place."
  default     = "vllm/vllm-openai:head"
}

variable "rehearsal" {
  description = "With --simulate only: how much slower the head is."
  default     = "0%"
}

server "vllm" "vllm" {
  for_each    = { base = var.base, head = var.head }
  image       = each.value
  model       = "/mnt/models/Qwen-14B-Chat"
  served_name = "qwen"
  gpus        = 2
  port        = 8080

  # Not carried over: the claim llm-model at /mnt/models (a volume of the daemon of that name stands in its place)
  # Not carried over: ports = [{"containerPort":8080}] (the launcher chooses the address, and publishes the port
  # on this machine alone)
  args = {
    trust_remote_code      = true
    gpu_memory_utilization = 0.95
    tensor_parallel_size   = 2
  }

  container {
    entrypoint = ["python3", "-m", "vllm.entrypoints.openai.api_server"]
    volumes    = { llm-model = "/mnt/models" }
    shm_size   = "2GiB"
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

  target  = server.vllm.vllm[matrix.side]
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
# * server vllm: the claim llm-model at /mnt/models (a volume of the daemon of that name stands in its place)
# * server vllm: ports = [{"containerPort":8080}] (the launcher chooses the address, and publishes the port on
#   this machine alone)
