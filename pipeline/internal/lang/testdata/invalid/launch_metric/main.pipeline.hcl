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

server "vllm" "remote" {
  url   = "http://gpu1:8000"
  model = "Qwen/Qwen2.5-7B-Instruct"
}

benchmark "remote" {
  matrix {
    rate = [4, 8]
  }

  target  = server.vllm.remote
  dataset = dataset.random.short

  load {
    rate     = matrix.rate
    requests = 1000
  }
}

benchmark "serving" {
  matrix {
    side  = ["base", "head"]
    slots = [4, 8]
  }

  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short

  load {
    rate            = 4
    max_concurrency = matrix.slots
    requests        = 1000
  }
}

baseline "paired" "slots" {
  axis  = "slots"
  value = 4
}

baseline "paired" "side" {
  axis  = "side"
  value = "base"
}

baseline "stored" "main" {
  branch = "main"
}

# One launch serves both.
gate "slots" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.slots
  metrics   = [metric.startup.time, metric.kv_cache.tokens]
  margin    = "5%"
}

# Two launches: nothing is wrong.
gate "launches" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.side
  metrics   = [metric.startup.time, metric.gpu_memory.used]
  margin    = "5%"
}

# Nobody launches it.
gate "remote" {
  benchmark = benchmark.remote
  baseline  = baseline.stored.main
  metrics   = [metric.kv_cache.tokens]
  margin    = "5%"
}
