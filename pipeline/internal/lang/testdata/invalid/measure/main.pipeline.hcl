server "vllm" "old" {
  executable = "vllm"
  model      = "m"
}

server "vllm" "new" {
  executable = "vllm"
  model      = "m"
}

dataset "random" "d" {
  input_len  = 128
  output_len = 16
}

benchmark "b" {
  matrix { side = [server.vllm.old, server.vllm.new] }
  target  = matrix.side
  dataset = dataset.random.d
  load {
    rate     = 4
    requests = 50
  }
}

baseline "paired" "old" {
  axis  = "side"
  value = server.vllm.old
}

measure "kind" {
  series    = "vllm:request_queue_time_seconds_sum"
  kind      = "histogram"
  statistic = "max"
  per       = "request"
  unit      = "s"
  better    = "lower"
}

measure "url" {
  series = "node load"
  kind   = "gauge"
  source = "url"
  unit   = "what is in no column"
  better = "lower"
}

measure "labels" {
  series       = "done_total"
  kind         = "counter"
  url          = "http://127.0.0.1:9400/metrics"
  labels_match = { reason = "(" }
  over         = "begun_total"
  per          = "second"
  unit         = "tokens"
  better       = "lower"
}

measure "stalls" {
  series  = "stalls_total"
  kind    = "counter"
  unit    = "count"
  better  = "lower"
  compare = "difference"
}

measure "waits" {
  series    = "wait_seconds"
  kind      = "histogram"
  statistic = "p99"
  unit      = "s"
  better    = "lower"
}

gate "misspelt" {
  benchmark = benchmark.b
  baseline  = baseline.paired.old
  metrics   = [metric.measure.stals]
  margin    = "5%"
}

gate "margin" {
  benchmark = benchmark.b
  baseline  = baseline.paired.old
  metrics   = [metric.measure.stalls]
  margin    = "5%"
}

gate "few" {
  benchmark = benchmark.b
  baseline  = baseline.paired.old
  metrics   = [metric.measure.waits]
  margin    = "5%"
}

gate "priceless" {
  benchmark = benchmark.b
  baseline  = baseline.paired.old
  metrics   = [metric.cost.per_million_tokens]
  margin    = "5%"
}

gate "limit" {
  benchmark = benchmark.b
  assert {
    condition     = self.measure.stall <= 3
    error_message = "too many"
  }
}

# What refers to a measure with a problem has none of its own.
gate "broken" {
  benchmark = benchmark.b
  baseline  = baseline.paired.old
  metrics   = [metric.measure.labels]
  margin    = "3%"
}
