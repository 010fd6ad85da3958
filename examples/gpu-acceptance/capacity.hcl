# The highest rate at which a server keeps its first tokens within a limit.

variable "min" {
  type        = number
  description = "Lowest rate that is searched, in requests per second."
  default     = 2
}

variable "max" {
  type        = number
  description = "Highest rate that is searched."
  default     = 8
}

variable "requests" {
  type        = number
  description = "Requests of each probe."
  default     = 20
}

variable "lag" {
  type        = string
  description = "Latest that the client may send, at p99."
  default     = "50ms"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmark "capacity" {
  target     = local.sut["base"]
  dataset    = dataset.random.short
  ignore_eos = false

  load {
    requests = var.requests

    search {
      min        = var.min
      max        = var.max
      resolution = "10%"

      slo {
        metric = metric.ttft.p50
        limit  = "500ms"
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
