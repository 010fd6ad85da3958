# Answers beside a benchmark, on the same launches.

server "vllm" "sut" {
  for_each   = toset(["base", "head"])
  executable = "vllm"
  model      = "m"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmark "serving" {
  matrix {
    side = ["base", "head"]
  }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    rate     = 4
    requests = 100
  }
  repeat {
    min = 4
    max = 8
  }
}

answers "same" {
  matrix {
    side  = ["base", "head"]
    users = [1, 8]
  }
  target      = server.vllm.sut[matrix.side]
  dataset     = dataset.random.short
  requests    = 500
  concurrency = matrix.users
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "agreement" {
  benchmark = answers.same
  baseline  = baseline.paired.base
  metrics   = [metric.agreement.share]
  margin    = "1pp"
}

gate "divergence" {
  benchmark = answers.same
  baseline  = baseline.paired.base
  metrics   = [metric.first_divergence.mean]
  margin    = "0.5 tokens"
}

gate "probabilities" {
  benchmark = answers.same
  baseline  = baseline.paired.base
  metrics   = [metric.logprob_difference.mean]
  margin    = "0.01 nats"
}
