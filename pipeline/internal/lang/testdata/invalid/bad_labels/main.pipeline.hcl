server "vllm" {
  executable = "vllm"
}

server "vllm" "a" "b" {
  executable = "vllm"
}

benchmark "my bench" {
}

pipeline {
}

pipeline {
}

server "sut" {
  executable = "vllm"
}

server "vlm" {
  executable = "vllm"
}

dataset "random" "chat" {
  input_len  = 64
  output_len = 64
}

benchmark "serving" {
  target  = server.vllm.sut
  dataset = dataset.random.chat

  load {
    rate     = 4
    requests = 200
  }
}
