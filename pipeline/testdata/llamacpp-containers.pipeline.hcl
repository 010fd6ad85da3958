# A real llama.cpp in containers, for TestLlamaCPP/containers. Their image is empty: they see the machine's
# libraries, its Python and llama.cpp's folder, to be read only.

variable "image" { type = string }

variable "dir" { type = string }

variable "python" {
  type        = string
  description = "Folder of the Python that the environment was made with."
}

server "llamacpp" "sut" {
  for_each = { base = "quick", head = "slow" }
  image    = var.image

  # Two models, whose answers differ.
  model       = "${var.dir}/${each.value}.gguf"
  served_name = "tiny"
  args        = { ctx_size = 8192, threads = 1 }
  stop_grace  = "2s"

  container {
    entrypoint = ["${var.dir}/bin/llama-server"]
    pull       = "never"
    tmpfs      = { "/tmp" = "" }
    mounts = [
      "/usr:/usr:ro", "/usr/lib:/lib:ro", "/usr/lib64:/lib64:ro", "/usr/bin:/bin:ro",
      "${var.python}:${var.python}:ro", "${var.dir}:${var.dir}:ro",
    ]
  }

  ready {
    interval = "50ms"
  }
}

dataset "random" "short" {
  input_len  = 16
  output_len = 16
}

benchmark "queue" {
  matrix {
    side = ["base", "head"]
  }

  target  = server.llamacpp.sut[matrix.side]
  dataset = dataset.random.short

  load {
    arrival         = "closed"
    max_concurrency = 2
    requests        = 10
  }

  limits {
    lag_p99    = "5s"
    rate_share = "1%"
  }

  repeat {
    min = 2
    max = 2
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "latency" {
  benchmark = benchmark.queue
  baseline  = baseline.paired.base
  metrics   = [metric.e2el.mean]
  margin    = "100%"
}
