# What containers_test.go starts and ends again and again: two servers, and a pair of
# servers with its router and service.

variable "fails" {
  type    = list(string)
  default = []
}

server "vllm" "sut" {
  for_each   = { base = [], head = var.fails }
  image      = "vllm/vllm-openai:v0.11.0"
  version    = "0.11.0"
  model      = "tiny"
  env        = { SIDE = each.key } # an A/A run else
  stop_grace = "2s"
  ready {
    interval = "20ms"
  }
  simulate {
    profile = "fast"
    startup = "50ms"
    fail    = each.value
  }
}

server "vllm" "node" {
  abstract   = true
  image      = "vllm/vllm-openai:v0.33.0"
  version    = "0.33.0"
  model      = "tiny"
  stop_grace = "2s"
  ready {
    interval = "20ms"
  }
}

deployment "pd" {
  for_each = { base = [], head = var.fails }
  server "vllm" "prefill" {
    extends = server.vllm.node
    role    = "producer"
    simulate {
      profile = "fast"
      startup = "50ms"
    }
  }
  server "vllm" "decode" {
    extends = server.vllm.node
    role    = "consumer"
    env     = { SIDE = each.key }
    simulate {
      profile = "fast"
      startup = "50ms"
      fail    = each.value
    }
  }
  service "metadata" {}
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
    requests = 20
  }
  limits {
    lag_p99    = "5s"
    rate_share = "1%"
  }
  repeat {
    min = 2
    max = 2
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
