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
  benchmark    = benchmark.serving
  baseline     = baseline.stored.main
  metrics      = [metric.ttft.p50]
  margin       = "5%"
  suite_margin = "2%"
}

gate "ranks" {
  benchmark    = benchmark.serving
  baseline     = baseline.paired.base
  metrics      = [metric.ttft.p50]
  margin       = "5%"
  suite_margin = "2%"
  test         = "mann_whitney"
}

gate "greedy" {
  benchmark    = benchmark.serving
  baseline     = baseline.paired.base
  metrics      = [metric.ttft.p50]
  margin       = "5%"
  suite_margin = "2%"
  alpha        = "4.5%"
}

gate "limit" {
  benchmark    = benchmark.serving
  suite_margin = "2%"

  assert {
    condition     = self.errors == 0
    error_message = "errors"
  }
}
