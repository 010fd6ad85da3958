# Is chunked_prefill_size=2048 slower than defaults? Written by
#
#   pipeline ab …

server "sglang" "sut" {
  for_each = { defaults = null, "chunked_prefill_size=2048" = 2048 }
  image    = "lmsysorg/sglang:v0.5.4"
  model    = "/models/tiny"
  gpus     = 2
  args     = { tp_size = 2, chunked_prefill_size = each.value }

  container {
    ipc    = "host" # the processes of a server share memory
    mounts = ["/models/tiny:/models/tiny:ro"]
  }
}

dataset "random" "prompts" {
  input_len  = 512
  output_len = 64
}

benchmark "serving" {
  matrix {
    side        = ["defaults", "chunked_prefill_size=2048"]
    concurrency = [1, 16]
  }

  target  = server.sglang.sut[matrix.side]
  dataset = dataset.random.prompts

  warmup {
    requests = 20
  }

  load {
    arrival         = "closed"
    max_concurrency = matrix.concurrency
    requests        = 200
  }

  repeat {
    min = 4
    max = 12
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "defaults"
}

gate "latency" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50]
  margin    = "5%"
}
