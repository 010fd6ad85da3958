server "vllm" "sut" {
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
}

datasett "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmrk "serving" {
  target  = server.vllm.sut
  dataset = dataset.random.short
  load {
    rate     = 4
    requests = 100
  }
}
