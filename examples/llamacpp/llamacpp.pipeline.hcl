# A real engine on any machine with Python: llama.cpp with a model of 0.6 MB. `make demo-real` installs it and runs this
# file: a server, the same again, and one with a slow-down that is planted here. It computes eight tokens at a time.

variable "dir" {
  description = "Folder that setup.sh filled."
  default     = "../../out/llamacpp"
}

server "llamacpp" "sut" {
  for_each   = { base = 512, again = 512, planted = 8 }
  executable = "${var.dir}/bin/llama-server"
  model      = "${var.dir}/quick.gguf"
  stop_grace = "2s"

  args = {
    ubatch_size = each.value
    ctx_size    = 8192
    parallel    = 4
    threads     = 1
    warmup      = false
  }

  ready {
    interval = "20ms"
  }
}

dataset "random" "short" {
  input_len  = 256
  output_len = 16
}

benchmark "users" {
  matrix {
    side = ["base", "again", "planted"]
  }

  target  = server.llamacpp.sut[matrix.side]
  dataset = dataset.random.short

  load {
    arrival         = "closed"
    max_concurrency = 4
    requests        = 40
  }

  warmup {
    requests = 4
  }

  # The client shares the processors with the server.
  limits {
    lag_p99    = "5s"
    rate_share = "1%"
  }

  repeat {
    min = 6
    max = 6
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "latency" {
  benchmark = benchmark.users
  baseline  = baseline.paired.base
  metrics   = [metric.e2el.p50]
  margin    = "100%"
}
