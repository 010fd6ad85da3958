# A server that answers already, on both sides, for TestLlamaCPP/selftest.

variable "url" { type = string }

server "llamacpp" "sut" {
  for_each = toset(["base", "head"])
  url      = var.url
  model    = "tiny"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmark "short" {
  target  = server.llamacpp.sut[matrix.side]
  dataset = dataset.random.short

  matrix {
    side = ["base", "head"]
  }

  load {
    rate     = 10
    requests = 20
  }

  warmup {
    requests = 4
  }

  repeat {
    max = 6
  }

  # The client shares two cores with the server.
  limits {
    lag_p99    = "10s"
    rate_share = "1%"
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "latency" {
  benchmark = benchmark.short
  baseline  = baseline.paired.base
  metrics   = [metric.e2el.p50]
  margin    = "100%"
}
