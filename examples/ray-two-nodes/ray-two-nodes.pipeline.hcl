# One vLLM over Ray on two GPUs: both in one node, or one in each of two nodes, with different room for the KV cache.
#
#   pipeline run ray-two-nodes.pipeline.hcl --var first=tcp://10.0.0.1:2376 --var second=tcp://10.0.0.2:2376 --var certs=$HOME/.docker
#   pipeline run ray-two-nodes.pipeline.hcl --simulate=virtual --var quick=true

pipeline {
  description = "vLLM over Ray: one node against two"
  timeout     = "24h"

  # The first host has both GPUs of one node, and with the second one GPU of each of two. On a cluster of Slurm
  # the block is slurm { nodes = 2, gpus_per_node = 2, runtime = "pyxis" }, and nothing else changes.
  docker {
    host {
      url   = var.first
      certs = var.certs
    }
    host {
      url   = var.second
      certs = var.certs
    }
  }
}

variable "first" {
  type        = string
  description = "Docker daemon of a machine with two GPUs."
  default     = "tcp://10.0.0.1:2376"
}

variable "second" {
  type        = string
  description = "Docker daemon of a machine with one GPU of the same model."
  default     = "tcp://10.0.0.2:2376"
}

variable "certs" {
  type        = string
  description = "Folder with ca.pem, cert.pem and key.pem for both daemons."
  default     = "certs"
}

variable "quick" {
  type        = bool
  description = "A few cells, for a rehearsal."
  default     = false
}

locals {
  # The published runs differ in place and in room for the KV cache at once. The side that is missing
  # there is one_node with the room of two_nodes: without it nobody can say which of the two it was.
  # The rooms are 11.03, 12.02 and 31.83 GiB.
  sides = {
    two_nodes      = { nodes = 2, kv = "11295MiB" }
    one_node_equal = { nodes = 1, kv = "11295MiB" }
    one_node       = { nodes = 1, kv = "12308MiB" }
    one_node_large = { nodes = 1, kv = "32594MiB" }
  }

  lengths = {
    "1024/1024" = { input = 1024, output = 1024 }
    "4096/4096" = { input = 4096, output = 4096 }
    "1024/7168" = { input = 1024, output = 7168 }
    "7168/1024" = { input = 7168, output = 1024 }
    "1024/128"  = { input = 1024, output = 128 }
  }
}

# With nodes = 2 the server is a Ray cluster of its own: a head on the first host, a worker on the second.
server "vllm" "ray" {
  for_each = local.sides
  image    = "vllm/vllm-openai:v0.11.0"
  model    = "Qwen/Qwen2-7B-Instruct"
  gpus     = 2
  nodes    = each.value.nodes

  # Pods without /dev/infiniband: the collectives go through sockets.
  env = { NCCL_IB_DISABLE = "1" }

  args = {
    tensor_parallel_size         = 2
    distributed_executor_backend = each.value.nodes > 1 ? "ray" : "mp"
    max_model_len                = 8192
    kv_cache_memory_bytes        = bytes(each.value.kv)
  }

  container {
    network = "host"
    ipc     = "host"
    volumes = { huggingface = "/root/.cache/huggingface" }
  }

  ready {
    timeout = "20m"
  }

  simulate {
    profile = "a10"
  }
}

dataset "random" "prompt" {
  input_len  = 1024
  output_len = 128
}

benchmark "burst" {
  description = "All prompts at once"

  matrix {
    side     = ["two_nodes", "one_node_equal", "one_node", "one_node_large"]
    lengths  = var.quick ? ["1024/128"] : ["1024/1024", "4096/4096", "1024/7168", "7168/1024", "1024/128"]
    requests = var.quick ? [50, 200] : [10, 50, 100, 200, 500, 1000, 2000]
  }

  target     = server.vllm.ray[matrix.side]
  dataset    = dataset.random.prompt
  input_len  = local.lengths[matrix.lengths].input
  output_len = local.lengths[matrix.lengths].output

  load {
    arrival  = "unlimited"
    requests = matrix.requests
  }

  warmup {
    requests = 2
  }

  repeat {
    min = 4
    max = 4
  }

  # Published requests took up to 16 minutes between two nodes.
  request_timeout = "1h"
  timeout         = "2h"
}

baseline "paired" "equal_room" {
  axis  = "side"
  value = "one_node_equal"
}

# An experiment: what it finds is shown and does not fail.
gate "network" {
  description   = "What the network between the two GPUs costs, at equal room for the KV cache"
  benchmark     = benchmark.burst
  baseline      = baseline.paired.equal_room
  metrics       = [metric.output_throughput.mean, metric.tpot.mean]
  where         = matrix.side == "two_nodes"
  margin        = "5%"
  on_regression = "warn"
}

gate "room" {
  description   = "What room for the KV cache is worth, at one place"
  benchmark     = benchmark.burst
  baseline      = baseline.paired.equal_room
  metrics       = [metric.output_throughput.mean, metric.tpot.mean]
  where         = matrix.side != "two_nodes"
  margin        = "5%"
  on_regression = "warn"
}
