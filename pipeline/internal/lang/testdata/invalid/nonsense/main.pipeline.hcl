# --var unused=1
# Well formed, and it cannot be meant.
variable "unused" {
  type = number
}

pipeline {
  alpha = 1e-30
}

server "vllm" "small" {
  executable = "vllm"
  model      = "m"
  args       = { max_model_len = 512 }
}

dataset "random" "d" {
  input_len  = { min = 128, max = 1024 }
  output_len = 1
}

benchmark "b" {
  matrix {
    side = ["base", "head"]
    rate = [1e12]
    idle = [1, 2, 3]
  }
  target          = server.vllm.small
  dataset         = dataset.random.d
  request_timeout = "1ms"
  body            = { stream = false }
  load {
    rate     = matrix.rate
    requests = 2000
  }
  repeat {
    max = 2
  }
}

benchmark "slow" {
  matrix {
    side = ["base", "head"]
  }
  target          = server.vllm.small
  dataset         = dataset.random.d
  input_len       = 511
  request_timeout = "500ms"
  load {
    rate     = 2
    requests = 2000
  }
  repeat {
    max = 3
  }
}

baseline "paired" "side" {
  axis  = "side"
  value = "base"
}

baseline "file" "gone" {
  path = "gone.json"
}

gate "tokens" {
  benchmark = benchmark.slow
  baseline  = baseline.paired.side
  metrics   = [metric.tpot.p99, metric.itl.mean, metric.ttft.mean]
  margin    = "5%"
  alpha     = 1e-12
}

gate "always" {
  benchmark = benchmark.slow
  assert {
    condition     = true
    error_message = "Never."
  }
}

gate "either" {
  benchmark = benchmark.slow
  assert {
    condition     = self.errors >= 0 || true
    error_message = "Never."
  }
}

gate "units" {
  benchmark = benchmark.slow
  assert {
    condition     = self.ttft.p99 < 500 && 60 > self.tpot.p99 && self.success.rate > 99 && self.e2el.p99 < 120
    error_message = "Slow."
  }
}
