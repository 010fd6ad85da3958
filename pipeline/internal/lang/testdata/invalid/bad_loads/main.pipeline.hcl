server "vllm" "sut" {
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmark "both" {
  target  = server.vllm.sut
  dataset = dataset.random.short

  load {
    rate     = 4
    requests = 10
    duration = "10s"
  }
}

benchmark "neither" {
  target  = server.vllm.sut
  dataset = dataset.random.short

  load {
    rate = 4
  }
}

benchmark "closed" {
  target  = server.vllm.sut
  dataset = dataset.random.short

  load {
    arrival  = "closed"
    requests = 10
  }
}

benchmark "no_rate" {
  target  = server.vllm.sut
  dataset = dataset.random.short

  load {
    arrival  = "poisson"
    requests = 10
  }
}

benchmark "unlimited_rate" {
  target  = server.vllm.sut
  dataset = dataset.random.short

  load {
    arrival  = "unlimited"
    rate     = 5
    requests = 10
  }
}

benchmark "burst" {
  target  = server.vllm.sut
  dataset = dataset.random.short

  load {
    arrival    = "poisson"
    rate       = 5
    burstiness = 0.5
    requests   = 10
  }
}

benchmark "unlimited_time" {
  target  = server.vllm.sut
  dataset = dataset.random.short

  load {
    duration = "10s"
  }
}

benchmark "none" {
  target  = server.vllm.sut
  dataset = dataset.random.short

  load {
    rate     = 0.01
    duration = "1s"
  }
}

benchmark "missing" {
  target = server.vllm.sut
}

benchmark "lengths" {
  target    = server.vllm.sut
  dataset   = dataset.trace.t
  input_len = 5

  load {
    rate     = 4
    requests = 10
  }

  repeat {
    min = 2
    max = 12
  }

  limits {
    lag_p99 = "0"
  }
}

dataset "trace" "t" {
  path = "trace.jsonl"
}

dataset "random" "open" {
}

benchmark "open" {
  target  = server.vllm.sut
  dataset = dataset.random.open

  load {
    rate     = 4
    requests = 10
  }
}

benchmark "infinite" {
  target  = server.vllm.sut
  dataset = dataset.random.short

  load {
    rate     = "inf"
    requests = 10
  }
}

benchmark "lists" {
  target  = server.vllm.sut
  dataset = dataset.random.short

  load {
    rate            = [1, 2]
    max_concurrency = [4, 8]
    requests        = 10
  }
}
