server "vllm" "sut" {
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

server "vlm" "b" {
  executable = "vllm"
}

dataset "sharegpt4" "c" {
  path = "x"
}

baseline "pared" "d" {
  axis = "side"
}

report "githb" "e" {
}
