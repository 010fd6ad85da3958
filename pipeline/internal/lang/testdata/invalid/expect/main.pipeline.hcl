server "vllm" "sut" {
  for_each   = { base = false, head = true }
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
  args       = { enable_chunked_prefill = each.value }
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmark "serving" {
  matrix {
    side = ["base", "head"]
    rate = [4, 8]
  }

  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short

  load {
    rate     = matrix.rate
    requests = 1000
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

baseline "stored" "main" {
}

gate "stored" {
  benchmark = benchmark.serving
  baseline  = baseline.stored.main
  metrics   = [metric.ttft.p50]
  margin    = "5%"
  expect    = "improvement"
}

gate "unknown" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50]
  margin    = "5%"
  expect    = "faster"
}

gate "no_margin" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50]
  margin    = 0
}

gate "negative" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50]
  margin    = -0.01
  expect    = "improvement"
}

gate "more_than_it_can" {
  benchmark    = benchmark.serving
  baseline     = baseline.paired.base
  metrics      = [metric.ttft.p50, metric.success.rate]
  margin       = 0
  expect       = "improvement"
  suite_margin = "2%"
  strict       = true
}

gate "limit" {
  benchmark = benchmark.serving
  expect    = "improvement"

  assert {
    condition     = self.errors == 0
    error_message = "errors"
  }
}
