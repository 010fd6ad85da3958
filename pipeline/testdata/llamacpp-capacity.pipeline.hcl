# How many requests per second a real llama.cpp carries, for TestLlamaCPP/capacity.

variable "dir" { type = string }

server "llamacpp" "sut" {
  executable = "${var.dir}/bin/llama-server"
  model      = "${var.dir}/slow.gguf"
  args       = { ctx_size = 8192, parallel = 4, threads = 1 }
  stop_grace = "2s"

  ready {
    interval = "20ms"
  }
}

dataset "random" "short" {
  input_len  = 8
  output_len = 8
}

benchmark "capacity" {
  target  = server.llamacpp.sut
  dataset = dataset.random.short

  load {
    requests = 20

    search {
      min        = 0.5
      max        = 64
      resolution = "50%"

      slo {
        metric = metric.e2el.p50
        limit  = "1s"
      }
    }
  }

  limits {
    lag_p99    = "10s"
    rate_share = "1%"
  }

  repeat {
    max = 1
  }
}
