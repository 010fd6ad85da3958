server "vllm" "a" {
  extends    = server.vllm.b
  executable = "vllm"
}

server "vllm" "b" {
  extends = server.vllm.c
}

server "vllm" "c" {
  extends = server.vllm.a
}

server "sglang" "d" {
  extends    = server.vllm.a
  executable = "x"
}

server "vllm" "e" {
  extends = "server.vllm.a"
}
