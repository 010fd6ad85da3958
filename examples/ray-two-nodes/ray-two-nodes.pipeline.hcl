# One vLLM over Ray on two GPUs: both in one node, or one in each of two nodes, with different room for the KV cache.
#
#   pipeline run ray-two-nodes.pipeline.hcl --var two_nodes=10.0.0.1:6379 --var one_node=10.0.0.2:6379
#   pipeline run ray-two-nodes.pipeline.hcl --simulate --time-scale 20 --var quick=true

pipeline {
  description = "vLLM over Ray: one node against two"
  timeout     = "24h"
}

variable "one_node" {
  type        = string
  description = "Address of a Ray cluster of one node with two GPUs."
  default     = "127.0.0.1:6379"
}

variable "two_nodes" {
  type        = string
  description = "Address of a Ray cluster of two nodes with one GPU each."
  default     = "127.0.0.1:6380"
}

variable "quick" {
  type        = bool
  description = "A few cells, for a rehearsal."
  default     = false
}

locals {
  clusters = { one_node = var.one_node, two_nodes = var.two_nodes }

  # The published runs differ in place and in room for the KV cache at once. The side that is missing
  # there is one_node with the room of two_nodes: without it nobody can say which of the two it was.
  # The rooms are 11.03, 12.02 and 31.83 GiB.
  sides = {
    two_nodes      = { cluster = "two_nodes", kv = "11295MiB" }
    one_node_equal = { cluster = "one_node", kv = "11295MiB" }
    one_node       = { cluster = "one_node", kv = "12308MiB" }
    one_node_large = { cluster = "one_node", kv = "32594MiB" }
  }

  lengths = {
    "1024/1024" = { input = 1024, output = 1024 }
    "4096/4096" = { input = 4096, output = 4096 }
    "1024/7168" = { input = 1024, output = 7168 }
    "7168/1024" = { input = 7168, output = 1024 }
    "1024/128"  = { input = 1024, output = 128 }
  }
}

# The pipeline does not start the clusters: they outlive a run. It sees that they are there.
step "exec" "cluster" {
  for_each = local.clusters
  command  = ["ray", "status", "--address", each.value]
  timeout  = "1m"
}

server "vllm" "ray" {
  for_each   = local.sides
  executable = "vllm"
  version    = "0.11.0"
  model      = "Qwen/Qwen2-7B-Instruct"
  env        = { RAY_ADDRESS = local.clusters[each.value.cluster] }
  depends_on = [step.exec.cluster]

  args = {
    pipeline_parallel_size       = 2
    distributed_executor_backend = "ray"
    max_model_len                = 8192
    kv_cache_memory_bytes        = bytes(each.value.kv)
  }

  ready {
    timeout = "20m"
  }

  simulate {
    profile = "h100"
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

  timeout = "2h"
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
