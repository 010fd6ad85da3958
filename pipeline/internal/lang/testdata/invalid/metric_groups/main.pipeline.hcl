server "vllm" "x" {
  executable = "vllm"
  model      = "m"
}

dataset "random" "d" {
  input_len  = 128
  output_len = 16
}

benchmark "b" {
  target  = server.vllm.x
  dataset = dataset.random.d
  load {
    rate     = 4
    requests = 2000
  }
}

baseline "stored" "main" {}

gate "group" {
  benchmark = benchmark.b
  baseline  = baseline.stored.main
  metrics   = [metric.ttft, metric.output_throughput, "ttft.p99", "p99_ttft_ms", "nothing like it"]
  margin    = "5%"
}

gate "word" {
  benchmark = benchmark.b
  baseline  = baseline.stored.main
  metrics   = [metric.throughput, metric.latency.p99, metric.qps, metric.zzz]
  margin    = "5%"
}

gate "limit" {
  benchmark = benchmark.b
  assert {
    condition     = self.ttft < 1 && self.throughput.mean > 2 && self.latency.p99 < 3
    error_message = "Slow."
  }
}
