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

benchmark "chat" {
  matrix {
    side = ["base", "head"]
  }

  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short

  load {
    rate     = 4
    requests = 1000
  }
}

benchmark "vectors" {
  matrix {
    side = ["base", "head"]
  }

  target    = server.vllm.sut[matrix.side]
  dataset   = dataset.random.short
  endpoint  = "embeddings"
  input_len = 32

  load {
    rate     = 4
    requests = 1000
  }

  goodput {
    ttft = "0s"
    tpot = "50ms"
    e2el = "2s"
  }
}

benchmark "nothing" {
  target  = server.vllm.sut["base"]
  dataset = dataset.random.short

  load {
    requests = 10
  }

  goodput {}
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "chat" {
  benchmark = benchmark.chat
  baseline  = baseline.paired.base
  metrics   = [metric.goodput.rate, metric.ttft.p50]
  margin    = "5%"
}

gate "vectors" {
  benchmark = benchmark.vectors
  baseline  = baseline.paired.base
  metrics   = [metric.goodput.share, metric.e2el.p50, metric.ttft.p50]
  margin    = "5%"
}
