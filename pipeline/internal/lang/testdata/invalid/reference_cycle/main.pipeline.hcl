server "vllm" "sut" {
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

locals {
  a = "${local.b}-x"
  b = local.c
  c = server.vllm.two.model
}

server "vllm" "two" {
  executable = "vllm"
  model      = local.a
}

locals {
  self = local.self
}
