# What is measured besides completions of random prompts.

server "vllm" "sut" {
  url   = "http://127.0.0.1:8000/"
  model = "m"
}

dataset "random" "short" {
  input_len = 64
}

benchmark "vectors" {
  target   = server.vllm.sut
  dataset  = dataset.random.short
  endpoint = "embeddings"

  load {
    arrival         = "closed"
    max_concurrency = 4
    requests        = 100
  }

  goodput {
    e2el = "250ms"
  }
}

benchmark "limits" {
  target     = server.vllm.sut
  dataset    = dataset.random.short
  output_len = 16

  load {
    rate     = 10
    duration = "1m"

    ramp {
      from = 2
      over = "20s"
    }
  }

  goodput {
    ttft = "300ms"
    tpot = "50ms"
  }
}
