server "vllm" "sut" {
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmrk "serving" {
  target = server.vllm.sut
}
