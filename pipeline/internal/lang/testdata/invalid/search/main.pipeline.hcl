server "vllm" "sut" {
  for_each   = { base = false, head = true }
  executable = "vllm"
  model      = "m"
  args       = { enable_chunked_prefill = each.value }
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

benchmark "fine" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 400
    search {
      min = 2
      max = 32
      slo {
        metric = metric.ttft.p95
        limit  = "500ms"
      }
    }
  }
}

benchmark "one_load" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    rate = 4
    requests = 400
  }
}

benchmark "swapped" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 400
    search {
      min = 32
      max = 2
      slo {
        metric = metric.ttft.p95
        limit  = "500ms"
      }
    }
  }
}

benchmark "no_length" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 400
    search {
      min = 8
      max = 8
      slo {
        metric = metric.ttft.p95
        limit  = "500ms"
      }
    }
  }
}

benchmark "wide" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 400
    search {
      min = 0.001
      max = 1000
      slo {
        metric = metric.ttft.p95
        limit  = "500ms"
      }
    }
  }
}

benchmark "few" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 400
    search {
      min = 2
      max = 32
      slo {
        metric = metric.ttft.p99
        limit  = "500ms"
      }
    }
  }
}

benchmark "short" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    duration = "60s"
    search {
      min = 2
      max = 32
      slo {
        metric = metric.ttft.p95
        limit  = "500ms"
      }
    }
  }
}

benchmark "no_limits_of_goodput" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 400
    search {
      min = 2
      max = 32
      slo {
        metric = metric.goodput.share
        limit  = "95%"
      }
    }
  }
}

benchmark "throughput" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 400
    search {
      min = 2
      max = 32
      slo {
        metric = metric.output_throughput.mean
        limit  = 100
      }
    }
  }
}

benchmark "launch" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 400
    search {
      min = 2
      max = 32
      slo {
        metric = metric.startup.time
        limit  = "60s"
      }
    }
  }
}

benchmark "quoted" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 400
    search {
      min = 2
      max = 32
      slo {
        metric = "ttft.p95"
        limit  = "60s"
      }
    }
  }
}

benchmark "units" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 400
    search {
      min = 2
      max = 32
      slo {
        metric = metric.ttft.p95
        limit  = 500
      }
      slo {
        metric = metric.success.rate
        limit  = "150%"
      }
    }
  }
}

benchmark "twice" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 400
    search {
      min = 2
      max = 32
      slo {
        metric = metric.ttft.p95
        limit  = "500ms"
      }
      slo {
        metric = metric.ttft.p95
        limit  = "300ms"
      }
    }
  }
}

benchmark "with_rate" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 400
    rate     = 4
    search {
      min = 2
      max = 32
      slo {
        metric = metric.ttft.p95
        limit  = "500ms"
      }
    }
  }
}

benchmark "all_at_once" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 400
    arrival  = "unlimited"
    search {
      min = 2
      max = 32
      slo {
        metric = metric.ttft.p95
        limit  = "500ms"
      }
    }
  }
}

benchmark "halves" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 400
    arrival  = "closed"
    search {
      min = 0.5
      max = 32
      slo {
        metric = metric.ttft.p95
        limit  = "500ms"
      }
    }
  }
}

benchmark "few_probes" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 400
    search {
      min = 2
      max = 32
      probes = 2
      slo {
        metric = metric.ttft.p95
        limit  = "500ms"
      }
    }
  }
}

benchmark "no_slo" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 400
    search {
      min = 2
      max = 32
    }
  }
}

gate "not_searched" {
  benchmark = benchmark.one_load
  baseline  = baseline.paired.base
  metrics   = [metric.capacity.rate]
  margin    = "5%"
}

gate "other_quantity" {
  benchmark = benchmark.fine
  baseline  = baseline.paired.base
  metrics   = [metric.capacity.concurrency]
  margin    = "5%"
}

gate "latency" {
  benchmark = benchmark.fine
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p95]
  margin    = "5%"
}

gate "goodput" {
  benchmark = benchmark.fine
  baseline  = baseline.paired.base
  metrics   = [metric.goodput.rate]
  margin    = "5%"
}

benchmark "held_back" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests        = 400
    max_concurrency = 16
    search {
      min = 2
      max = 32
      slo {
        metric = metric.ttft.p95
        limit  = "500ms"
      }
    }
  }
}

benchmark "more_users_than_requests" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 400
    arrival  = "closed"
    search {
      min = 1
      max = 401
      slo {
        metric = metric.ttft.p95
        limit  = "500ms"
      }
    }
  }
}

benchmark "users_with_a_rate" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 400
    arrival  = "closed"
    rate     = 4
    search {
      min = 2
      max = 32
      slo {
        metric = metric.ttft.p95
        limit  = "500ms"
      }
    }
  }
}

benchmark "half_a_probe" {
  matrix { side = ["base", "head"] }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    requests = 400
    search {
      min    = 2
      max    = 32
      probes = 8.5
      slo {
        metric = metric.ttft.p95
        limit  = "500ms"
      }
    }
  }
}
