# A search on a cluster, which slurm_test.go carries out: the limit is so wide that every load holds
# on a busy machine, too, so that each launch ends with the bound of the range.

pipeline {
  slurm {
    partition     = "main"
    time          = "20m"
    nodes         = 2
    gpus_per_node = 2
    queue_timeout = "1m"
    load_node     = 1
  }
}

variable "program" {
  type = string
}

server "vllm" "sut" {
  for_each   = toset(["base", "head"])
  executable = [var.program, "simulate", "--", "vllm"]
  version    = "0.11.0"
  model      = "tiny"
  gpus       = 1
  stop_grace = "2s"

  env = {
    SIDE              = each.key
    PIPELINE_SIMULATE = jsonencode({ engine = "vllm", version = "0.11.0", profile = "fast", startup_seconds = 0.05, time_scale = 1 })
  }
  ready {
    interval = "50ms"
  }
}

dataset "random" "short" {
  input_len  = 128
  output_len = 4
}

benchmark "b" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 20
    search {
      min = 20
      max = 40
      slo {
        metric = metric.e2el.mean
        limit  = "10s"
      }
    }
  }
  limits {
    lag_p99    = "5s"
    rate_share = "1%"
  }
  repeat { max = 2 }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "capacity" {
  benchmark       = benchmark.b
  baseline        = baseline.paired.base
  metrics         = [metric.capacity.rate]
  margin          = "50%"
  allow_overload  = true
  on_inconclusive = "ignore"
  on_invalid      = "warn"
}
