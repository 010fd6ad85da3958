server "vllm" "sut" {
  executable = "vllm"
  model      = Qwen/Qwen2.5-7B-Instruct
}
