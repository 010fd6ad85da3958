pipeline {
  alpha = 0.05
}

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

gate "latency" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p99]
  margin    = "5%"
  alpha     = 0.03
}

gate "tokens" {
  for_each  = toset(["short", "long"])
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.tpot.p99]
  margin    = "5%"
  alpha     = "4%"
}
