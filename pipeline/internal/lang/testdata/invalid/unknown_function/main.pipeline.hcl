server "vllm" "sut" {
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

locals {
  a = duratoin("5s")
  b = upper("x", "y")
  c = env("HOME")
}
