server "vllm" "sut" {
  for_each   = { base = false, head = true }
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
  args       = { enable_chunked_prefill = each.value }
}

dataset "trace" "agents" {
  path = "trace.jsonl"
}

benchmark "agents" {
  matrix {
    side = ["base", "head"]
  }

  target  = server.vllm.sut[matrix.side]
  dataset = dataset.trace.agents

  load {
    arrival         = "closed"
    max_concurrency = 8
    duration        = "60s"
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "sessions" {
  benchmark = benchmark.agents
  baseline  = baseline.paired.base
  metrics   = [metric.e2el.mean, metric.session_time.mean]
  margin    = "5%"
}
