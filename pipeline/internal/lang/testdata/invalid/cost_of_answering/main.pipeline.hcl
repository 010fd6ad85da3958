pipeline {
  price { gpu_hour = "2.50 USD" }
}

server "vllm" "old" {
  executable = "vllm"
  model      = "m"
}

server "vllm" "new" {
  url   = "http://127.0.0.1:8000"
  model = "m"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmark "serving" {
  matrix { side = [server.vllm.old, server.vllm.new] }
  target  = matrix.side
  dataset = dataset.random.short
  load {
    arrival         = "closed"
    max_concurrency = 4
    requests        = 100
  }
  repeat { max = 6 }
}

baseline "paired" "old" {
  axis  = "side"
  value = server.vllm.old
}

gate "cost" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.old
  metrics   = [metric.cost.per_million_tokens]
  margin    = "3%"
}
