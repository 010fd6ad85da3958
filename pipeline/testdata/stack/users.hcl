# What TestStacks measures: two versions of a stack, of which the head is as fast as head says.

variable "head" {
  type        = string
  description = "How many times slower the head is than the base."
  default     = "1"
}

variable "repeats" {
  type    = number
  default = 2
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
    min = var.repeats
    max = var.repeats
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
