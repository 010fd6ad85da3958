server "vllm" "sut" {
  for_each   = toset(["base", "head"])
  executable = "vllm"
  model      = "m"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 64
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
}

# Cut by a stop, and sampled.
answers "cut" {
  target  = server.vllm.sut["base"]
  dataset = dataset.random.short
  body    = { stop = ["."] }
}

answers "sampled" {
  target      = server.vllm.sut["base"]
  dataset     = dataset.random.short
  temperature = 0.7
}

answers "endless" {
  target   = server.vllm.sut["base"]
  dataset  = dataset.random.short
  requests = 100000
}

answers "texts" {
  matrix {
    side = ["base", "head"]
  }
  target   = server.vllm.sut[matrix.side]
  dataset  = dataset.random.short
  logprobs = false
}

answers "few" {
  matrix {
    side = ["base", "head"]
  }
  target   = server.vllm.sut[matrix.side]
  dataset  = dataset.random.short
  requests = 100
  repeat {
    max = 2
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

baseline "stored" "nightly" {}

# No log-probabilities.
gate "probabilities" {
  benchmark = answers.texts
  baseline  = baseline.paired.base
  metrics   = [metric.logprob_difference.mean]
  margin    = "0.01 nats"
}

# Fewer prompts than the margin needs.
gate "fine" {
  benchmark = answers.texts
  baseline  = baseline.paired.base
  metrics   = [metric.agreement.share]
  margin    = "0.5pp"
}

gate "repeats" {
  benchmark = answers.few
  baseline  = baseline.paired.base
  metrics   = [metric.agreement.share]
  margin    = "5pp"
}

gate "stored" {
  benchmark = answers.texts
  baseline  = baseline.stored.nightly
  metrics   = [metric.agreement.share]
  margin    = "1pp"
}

gate "other_test" {
  benchmark = answers.texts
  baseline  = baseline.paired.base
  metrics   = [metric.agreement.share]
  margin    = "1pp"
  test      = "welch"
}

# The wrong units.
gate "units" {
  benchmark = answers.texts
  baseline  = baseline.paired.base
  metrics   = [metric.agreement.share]
  margin    = "2 tokens"
}

gate "ratio" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50]
  margin    = "1pp"
}

# A share has no percentage: it could be of its value, or percentage points.
gate "percentage" {
  benchmark = answers.texts
  baseline  = baseline.paired.base
  metrics   = [metric.agreement.share]
  margin    = "2%"
}

# Times of answers, and answers of times.
gate "timed" {
  benchmark = answers.texts
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50]
  margin    = "5%"
}

gate "answered" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.agreement.share]
  margin    = "1pp"
}
