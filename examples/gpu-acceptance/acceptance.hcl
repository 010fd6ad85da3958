# One model served three times: a base, the same again, and one that waits a known time before each token.
# run.sh measures it, and judges what was measured by what is known.

pipeline {
  description = "transformers serve: base, the same again, and a planted delay for each token"
}

variable "rate" {
  type        = number
  description = "Requests per second."
  default     = 3
}

variable "requests" {
  type        = number
  description = "Requests of each run."
  default     = 24
}

variable "output_len" {
  type        = number
  description = "Tokens of each answer."
  default     = 16
}

variable "lag" {
  type        = string
  description = "Latest that the client may send, at p99."
  default     = "50ms"
}

variable "repeats" {
  type        = number
  description = "Launches of each side."
  default     = 4
}

dataset "random" "short" {
  input_len  = 64
  output_len = var.output_len
}

benchmark "serving" {
  matrix {
    side = ["base", "again", "planted"]
  }

  target     = local.sut[matrix.side]
  dataset    = dataset.random.short
  ignore_eos = false # transformers serve does not know it; the model never ends by itself

  load {
    arrival  = "constant"
    rate     = var.rate
    requests = var.requests
  }

  warmup {
    requests = 4
  }

  limits {
    lag_p99 = var.lag
  }

  repeat {
    min = var.repeats
    max = var.repeats
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "next_tokens" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.tpot.p50]
  margin    = "25%"
}

report "file" "all" {
  formats = ["markdown", "text", "json", "html"]
}
