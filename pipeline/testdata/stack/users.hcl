# Measures two versions of a stack. What its simulated servers need for a token is long beside what a busy machine adds.

variable "head" {
  type        = string
  description = "Slowdown of the head's simulated server; that of the base is 4."
  default     = "4"
}

variable "repeats" {
  type    = number
  default = 2
}

variable "requests" {
  type    = number
  default = 20
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
    requests        = var.requests
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
