# What slurm_test.go starts on the nodes of a cluster: a server, and a pair of servers on
# two nodes with its service and router. The program on the nodes is this one's simulator.

pipeline {
  slurm {
    partition     = var.partition
    time          = var.time
    nodes         = 2
    gpus_per_node = var.gpus
    side_by_side  = var.side_by_side
    queue_timeout = var.queue_timeout
    load_node     = var.load_node
  }
}

variable "partition" {
  type    = string
  default = "main"
}

variable "time" {
  type    = string
  default = "20m"
}

variable "queue_timeout" {
  type    = string
  default = "1m"
}

variable "gpus" {
  type    = number
  default = 2
}

variable "side_by_side" {
  type    = bool
  default = false
}

variable "load_node" {
  type    = number
  default = null
}

variable "repeats" {
  type    = number
  default = 2
}

variable "program" {
  type = string
}

variable "fails" {
  type    = list(string)
  default = []
}

variable "requests" {
  type    = number
  default = 20
}

server "vllm" "sut" {
  for_each   = { base = [], head = var.fails }
  executable = [var.program, "simulate", "--", "vllm"]
  version    = "0.11.0"
  model      = "tiny"
  gpus       = 1
  stop_grace = "2s"

  env = {
    SIDE              = each.key # an A/A run else
    PIPELINE_SIMULATE = jsonencode({ engine = "vllm", version = "0.11.0", profile = "fast", startup_seconds = 0.05, time_scale = 1, fail = each.value })
  }
  ready {
    interval = "50ms"
  }
}

server "vllm" "member" {
  abstract   = true
  executable = [var.program, "simulate", "--", "vllm"]
  version    = "0.33.0"
  model      = "tiny"
  gpus       = 1
  stop_grace = "2s"
  env        = { PIPELINE_SIMULATE = jsonencode({ engine = "vllm", version = "0.33.0", profile = "fast", startup_seconds = 0.05, time_scale = 1 }) }
  ready {
    interval = "50ms"
  }
}

deployment "pd" {
  for_each = { base = 0, head = 1 }
  server "vllm" "prefill" {
    extends = server.vllm.member
    role    = "producer"
  }
  server "vllm" "decode" {
    extends = server.vllm.member
    role    = "consumer"
    node    = 1

    env = {
      SIDE = each.key
    }
  }
  service "metadata" {
    executable = [var.program, "simulate", "--", "metadata"]
  }
  kv_transfer "nixl" {
    transport = "tcp"
  }
  router "nixl" {
    prefill = [self.server.prefill]
    decode  = [self.server.decode]
  }
}

dataset "random" "short" {
  input_len  = 128
  output_len = 4
}

variable "target" {
  type    = string
  default = "servers"
}

locals {
  targets = {
    servers = { base = server.vllm.sut["base"], head = server.vllm.sut["head"] }
    pairs   = { base = deployment.pd["base"], head = deployment.pd["head"] }
  }
}

benchmark "b" {
  matrix { side = ["base", "head"] }
  target  = local.targets[var.target][matrix.side]
  dataset = dataset.random.short
  load {
    rate     = 100
    requests = var.requests
  }
  limits {
    lag_p99    = "5s"
    rate_share = "1%"
  }
  repeat {
    min = var.repeats
    max = var.repeats
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

# Only failures decide: how fast this machine is, and how busy, does not matter.
gate "latency" {
  benchmark       = benchmark.b
  baseline        = baseline.paired.base
  metrics         = [metric.success.rate]
  margin          = "1%"
  allow_overload  = true
  on_inconclusive = "ignore"
  on_invalid      = "warn"
}
