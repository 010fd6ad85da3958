server "vllm" "two" {
  image = "vllm/vllm-openai:v0.11.0"
  url   = "http://127.0.0.1:8000"
  model = "m"
}

server "vllm" "none" {
  model = "m"
}

server "vllm" "base" {
  abstract = true
  image    = "vllm/vllm-openai:v0.11.0"
  model    = "m"
}

server "vllm" "child" {
  extends    = server.vllm.base
  executable = "vllm"
}
