server "vllm" "sut" {
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmark "serving" {
  matrix {
    rate     = [4, -1, 0]
    requests = [10, 20]
    arrival  = ["poisson", "posson"]
  }

  target     = server.vllm.sut
  dataset    = dataset.random.short
  prefix_len = matrix.requests * 5

  load {
    arrival  = matrix.arrival
    rate     = matrix.rate
    requests = matrix.requests
  }
}
