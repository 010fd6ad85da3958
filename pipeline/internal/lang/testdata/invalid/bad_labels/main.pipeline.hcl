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
