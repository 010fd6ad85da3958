# Is b:8000 slower than a:8000? Written by
#
#   pipeline ab …

server "openai" "sut" {
  for_each = { "a:8000" = "http://a:8000", "b:8000" = "http://b:8000" }
  url      = each.value
  model    = "m"
}

dataset "random" "prompts" {
  input_len  = 512
  output_len = 64
}

benchmark "serving" {
  matrix {
    side = ["a:8000", "b:8000"]
  }

  target  = server.openai.sut[matrix.side]
  dataset = dataset.random.prompts

  warmup {
    requests = 20
  }

  load {
    rate     = 0.5
    requests = 200
  }

  repeat {
    min = 4
    max = 12
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "a:8000"
}

gate "latency" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50]
  margin    = "5%"
}
