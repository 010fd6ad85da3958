# The highest rate at which transformers serve keeps its first tokens within a limit.

variable "python" {
  type        = string
  description = "Python with torch and transformers[serving]."
  default     = "python3"
}

variable "model" {
  type        = string
  description = "Folder of the model that acceptance.py made."
  default     = "model"
}

variable "max" {
  type        = number
  description = "Highest rate that is searched, in requests per second."
  default     = 16
}

variable "lag" {
  type        = string
  description = "Latest that the client may send, at p99."
  default     = "50ms"
}

server "transformers" "sut" {
  executable = [var.python, "serve.py", "--plant-ms", 0, "--", "serve"]
  model      = var.model
  gpus       = 1

  ready {
    timeout = "5m"
  }
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmark "capacity" {
  target     = server.transformers.sut
  dataset    = dataset.random.short
  ignore_eos = false

  load {
    requests = 20

    search {
      min        = 1
      max        = var.max
      resolution = "10%"

      slo {
        metric = metric.ttft.p50
        limit  = "1s"
      }
    }
  }

  warmup {
    requests = 4
  }

  limits {
    lag_p99 = var.lag
  }

  repeat {
    min = 1
    max = 1
  }
}
