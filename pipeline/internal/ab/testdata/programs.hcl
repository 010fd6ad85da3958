# Is llama-server slower than old/llama-server? Written by
#
#   pipeline ab …

server "llamacpp" "sut" {
  for_each   = { "old/llama-server" = "./old/llama-server", llama-server = "./llama-server" }
  executable = each.value
  model      = "tiny.gguf"
  args       = { parallel = 2 }
}

dataset "random" "prompts" {
  input_len  = 64
  output_len = 16
}

benchmark "serving" {
  matrix {
    side = ["old/llama-server", "llama-server"]
  }

  target  = server.llamacpp.sut[matrix.side]
  dataset = dataset.random.prompts

  warmup {
    requests = 20
  }

  load {
    arrival         = "closed"
    max_concurrency = 8
    requests        = 40
  }

  repeat {
    min = 4
    max = 6
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "old/llama-server"
}

gate "latency" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50]
  margin    = "10%"
}
