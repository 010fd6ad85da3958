# Is 4 slower than 2? Written by
#
#   pipeline ab …

server "openai" "sut" {
  for_each = {
    "2" = ["python3", "serve.py", "--threads", "2"]
    "4" = ["python3", "serve.py", "--threads", "4"]
  }

  executable = each.value
  model      = "tiny"
}

dataset "random" "prompts" {
  input_len  = 512
  output_len = 64
}

benchmark "serving" {
  matrix {
    side = ["2", "4"]
  }

  target  = server.openai.sut[matrix.side]
  dataset = dataset.random.prompts

  warmup {
    requests = 20
  }

  load {
    arrival         = "closed"
    max_concurrency = 8
    requests        = 200
  }

  repeat {
    min = 4
    max = 12
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "2"
}

gate "latency" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50]
  margin    = "5%"
}
