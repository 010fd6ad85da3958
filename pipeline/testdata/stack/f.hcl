# A stack that a shell script starts and removes, for TestStack: the head is three times as slow.

variable "program" { type = string }

server "stack" "sut" {
  for_each = { base = "1", head = "3" }
  up       = ["./stack.sh", "up", each.value]
  down     = ["./stack.sh", "down"]
  logs     = ["./stack.sh", "logs"]
  lost     = ["./stack.sh", "lost"]
  model    = "tiny"
  env      = { PROGRAM = var.program }

  ready { interval = "50ms" }
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmark "users" {
  matrix { side = ["base", "head"] }
  target  = server.stack.sut[matrix.side]
  dataset = dataset.random.short
  load {
    arrival         = "closed"
    max_concurrency = 2
    requests        = 20
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

gate "latency" {
  benchmark = benchmark.users
  baseline  = baseline.paired.base
  metrics   = [metric.e2el.p50]
  margin    = "100%"
}
