# Two servers of which one is made to fail: see failures_test.go, which writes the engine
# in place of ENGINE.

variable "base" {
  type    = list(string)
  default = []
}

variable "head" {
  type    = list(string)
  default = []
}

variable "ready" { default = "30s" }

server "ENGINE" "sut" {
  for_each   = { base = var.base, head = var.head }
  env        = { SIDE = each.key } # an A/A run else
  executable = "ENGINE"
  model      = "tiny"
  stop_grace = "300ms"
  ready {
    timeout  = length(each.value) > 0 ? var.ready : "30s"
    interval = "20ms"
  }
  simulate {
    profile = "fast"
    startup = "100ms"
    fail    = each.value
  }
}

dataset "random" "short" {
  input_len  = 32
  output_len = 4
}

benchmark "b" {
  matrix { side = ["base", "head"] }
  target  = server.ENGINE.sut[matrix.side]
  dataset = dataset.random.short
  load {
    rate     = 100
    requests = 40
  }
  # The tests of other packages share this machine with the client.
  limits {
    lag_p99    = "5s"
    rate_share = "10%"
  }
  repeat {
    min = 4
    max = 4
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
  on_inconclusive = "ignore"
  on_invalid      = "warn"
}

# A limit beside it hides nothing: a head that does not start is a regression with it and without.
gate "slo" {
  benchmark = benchmark.b
  assert {
    condition     = self.e2el.p50 < 60
    error_message = "slow"
  }
}
