server "vllm" "sut" {
  executable = "vllm"
  gpus       = "two"
  args       = "--seed 0"
  env        = ["A=1"]
  model      = "Qwen/Qwen2.5-7B-Instruct"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmark "serving" {
  target     = "server.vllm.sut"
  dataset    = server.vllm.sut
  ignore_eos = "maybe"
  input_len  = { low = 1 }

  load {
    rate     = 4
    requests = 2.5
  }
}
