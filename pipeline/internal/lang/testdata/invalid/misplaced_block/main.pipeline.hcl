server "vllm" "sut" {
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

matrix {
  rate = [1, 2]
}

load {
  rate = 4
}

warmup {
  requests = 4
}

rate = 4

benchmark "serving" {
  target  = server.vllm.sut
  dataset = dataset.random.short
  rate    = 4

  gate "inner" {
    benchmark = benchmark.serving
  }

  load   = { requests = 10 }
  matrix = { length = [1, 2] }

  output_len = matrix.length

  description {
    text = "x"
  }
}
