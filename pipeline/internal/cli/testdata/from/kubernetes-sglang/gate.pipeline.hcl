# Base against head, from source.yaml (a Kubernetes manifest).
# The source describes no load: dataset and load below are a start. Replace them by your own.
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=IMAGE
#
# 9 parts were not carried over: see the end.

variable "base" {
  description = "Image from before the change."
  default     = "docker.io/lmsysorg/sglang:latest"
}

variable "head" {
  description = "Image with the change. The default only holds its place."
  default     = "docker.io/lmsysorg/sglang:head"
}

variable "rehearsal" {
  description = "With --simulate only: how much slower the head is."
  default     = "0%"
}

variable "hf_token" {
  description = "HF_TOKEN: PIPELINE_VAR_hf_token in the environment."
  default     = ""
  sensitive   = true
}

server "sglang" "meta_llama_31_8b_instruct_sglang" {
  for_each = { base = var.base, head = var.head }
  image    = each.value
  model    = "meta-llama/Meta-Llama-3.1-8B-Instruct"
  gpus     = 1
  port     = 30000
  # Not carried over: the value of HF_TOKEN (secrets do not belong in the file: set PIPELINE_VAR_hf_token)
  # Not carried over: imagePullPolicy = Always (see pull of the container)
  # Not carried over: ports = [{"containerPort":30000}] (the launcher chooses the address, and publishes the
  # port on this machine alone)
  # Not carried over: livenessProbe =
  # {"httpGet":{"path":"/health","port":30000},"initialDelaySeconds":30,"periodSeconds":10} (a server that ends
  # has failed)
  # Not carried over: --host 0.0.0.0 (the launcher chooses the address)
  # Not carried over: restartPolicy = Always (a server that ends has failed)
  # Not carried over: runtimeClassName = nvidia (a pipeline file has nothing for it)
  env = { HF_TOKEN = var.hf_token }

  container {
    mounts = [
      "/root/.cache/huggingface:/root/.cache/huggingface:ro",
      "/etc/localtime:/etc/localtime:ro",
    ]

    ipc = "host"
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

  target  = server.sglang.meta_llama_31_8b_instruct_sglang[matrix.side]
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
# * RuntimeClass nvidia (it belongs to the cluster: see pipeline.kubernetes)
# * Service meta-llama-31-8b-instruct-sglang (it belongs to the cluster: see pipeline.kubernetes)
# * server meta_llama_31_8b_instruct_sglang: the value of HF_TOKEN (secrets do not belong in the file: set
#   PIPELINE_VAR_hf_token)
# * server meta_llama_31_8b_instruct_sglang: imagePullPolicy = Always (see pull of the container)
# * server meta_llama_31_8b_instruct_sglang: ports = [{"containerPort":30000}] (the launcher chooses the
#   address, and publishes the port on this machine alone)
# * server meta_llama_31_8b_instruct_sglang: livenessProbe =
#   {"httpGet":{"path":"/health","port":30000},"initialDelaySeconds":30,"periodSeconds":10} (a server that
#   ends has failed)
# * server meta_llama_31_8b_instruct_sglang: --host 0.0.0.0 (the launcher chooses the address)
# * server meta_llama_31_8b_instruct_sglang: restartPolicy = Always (a server that ends has failed)
# * server meta_llama_31_8b_instruct_sglang: runtimeClassName = nvidia (a pipeline file has nothing for it)
