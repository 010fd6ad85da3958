# A real llama.cpp for TestLlamaCPP: a base, the same again, and one with a slower model.

variable "dir" {
  type        = string
  description = "Folder that examples/llamacpp/setup.sh filled."
}

# The slower model needs ten times as long: six pairs show it on a machine whose other work doubles and triples times.
variable "repeats" {
  type    = number
  default = 6
}

variable "requests" {
  type    = number
  default = 10
}

server "llamacpp" "sut" {
  for_each   = { base = "quick", again = "quick", slow = "slow" }
  executable = "${var.dir}/bin/llama-server"
  # Two models, whose answers differ.
  model       = "${var.dir}/${each.value}.gguf"
  served_name = "tiny"
  args        = { ctx_size = 8192, parallel = 2, threads = 1 }
  stop_grace  = "2s"

  ready {
    interval = "20ms"
  }
}

dataset "random" "short" {
  input_len  = 16
  output_len = 16
}

benchmark "queue" {
  matrix {
    side = ["base", "again", "slow"]
  }

  target  = server.llamacpp.sut[matrix.side]
  dataset = dataset.random.short

  load {
    arrival         = "closed"
    max_concurrency = 2
    requests        = var.requests
  }

  warmup {
    requests = 4
  }

  # The client shares the cores with the server.
  limits {
    lag_p99    = "5s"
    rate_share = "1%"
  }

  repeat {
    min = var.repeats
    max = var.repeats
  }
}

measure "generated" {
  description = "Tokens that the server says it generated"
  series      = "llamacpp:tokens_predicted_total"
  kind        = "counter"
  per         = "request"
  unit        = "tokens"
  better      = "higher"
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

gate "answers" {
  benchmark = benchmark.queue

  assert {
    condition     = self.errors == 0 && abs(self.measure.generated - 16) < 0.01
    error_message = "${self.errors} of ${self.requests} requests failed, and ${self.measure.generated} tokens came from one."
  }
}
