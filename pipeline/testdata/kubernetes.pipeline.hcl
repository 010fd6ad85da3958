# What kubernetes_test.go starts as Pods: a server, and a pair of servers on two nodes with its
# service and router. The image of all of them is this program, the servers are its simulator.

pipeline {
  kubernetes {
    image         = var.image
    namespace     = var.namespace
    load_node     = var.load_node
    queue_timeout = var.queue_timeout
    secrets       = var.secrets

    priority_class = var.priority_class
    resources      = var.resources
    load_resources = var.load_resources
  }
}

variable "image" {
  type    = string
  default = "pipeline.test/pipeline:test"
}

variable "server_image" {
  type    = string
  default = "pipeline.test/pipeline:test"
}

variable "namespace" {
  type = string
}

variable "load_node" {
  type    = number
  default = null
}

variable "queue_timeout" {
  type    = string
  default = "1m"
}

variable "secrets" {
  type    = map(string)
  default = {}
}

variable "priority_class" {
  type    = string
  default = null
}

variable "resources" {
  type    = map(string)
  default = {}
}

variable "load_resources" {
  type    = map(string)
  default = {}
}

variable "gpus" {
  type    = number
  default = 1
}

variable "memory" {
  type    = string
  default = null
}

variable "confined" {
  type    = bool
  default = false
}

variable "volumes" {
  type    = map(string)
  default = {}
}

variable "head" {
  type    = string
  default = "head"
}

variable "repeats" {
  type    = number
  default = 1
}

variable "requests" {
  type    = number
  default = 20
}

variable "fails" {
  type    = list(string)
  default = []
}

variable "target" {
  type    = string
  default = "servers"
}

server "vllm" "sut" {
  for_each   = { base = [], (var.head) = var.fails }
  image      = var.server_image
  version    = "0.11.0"
  model      = "tiny"
  gpus       = var.gpus
  stop_grace = "2s"

  env = {
    SIDE              = each.key # an A/A run else
    PIPELINE_SIMULATE = jsonencode({ engine = "vllm", version = "0.11.0", profile = "fast", startup_seconds = 0.05, time_scale = 1, fail = each.value })
  }
  container {
    entrypoint = ["/pipeline", "simulate", "--", "vllm", "serve"]
    memory     = var.memory
    volumes    = var.volumes

    # As the level "restricted" of the Pod Security Standards asks for.
    user         = var.confined ? "1000" : null
    cap_drop     = var.confined ? ["ALL"] : []
    security_opt = var.confined ? ["no-new-privileges", "seccomp=builtin"] : []
  }
  ready {
    interval = "50ms"
  }
}

server "vllm" "member" {
  abstract   = true
  image      = var.server_image
  version    = "0.11.0"
  model      = "tiny"
  gpus       = 1
  stop_grace = "2s"
  env        = { PIPELINE_SIMULATE = jsonencode({ engine = "vllm", version = "0.11.0", profile = "fast", startup_seconds = 0.05, time_scale = 1 }) }
  container {
    entrypoint = ["/pipeline", "simulate", "--", "vllm", "serve"]
  }
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

locals {
  targets = {
    servers = { base = server.vllm.sut["base"], head = server.vllm.sut[var.head] }
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
