server "vllm" "sut" {
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmark "huge" {
  matrix {
    a = range(1000)
    b = range(1000)
    c = range(1000)
  }

  target  = server.vllm.sut
  dataset = dataset.random.short

  load {
    rate     = matrix.a
    requests = 10
  }
}
