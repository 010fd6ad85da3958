# A real vLLM on the CPU, spread over two processes that connect as those of two nodes do.

variable "venv" {
  type = string
}
server "vllm" "s" {
  executable  = "${var.venv}/bin/vllm"
  model       = "${var.venv}/model"
  served_name = "tiny"
  version     = "0.32.0"
  nodes       = 2
  args = {
    tensor_parallel_size = 2
    dtype                = "bfloat16"
    max_model_len        = 512
    block_size           = 32
    enforce_eager        = true
    seed                 = 0
  }
  env = {
    HF_HUB_OFFLINE            = "1"
    VLLM_CPU_KVCACHE_SPACE    = "1" # GiB
    VLLM_NO_USAGE_STATS       = "1"
    VLLM_CPU_OMP_THREADS_BIND = "nobind"
    OMP_NUM_THREADS           = "1"
  }
  ready {
    timeout  = "15m"
    interval = "1s"
  }
}
dataset "random" "p" {
  input_len  = 32
  output_len = 8
}
benchmark "b" {
  target  = server.vllm.s
  dataset = dataset.random.p
  load {
    arrival         = "closed"
    max_concurrency = 2
    requests        = 10
  }
  limits {
    lag_p99    = "5s"
    rate_share = "1%"
  }
  repeat {
    min = 1
    max = 1
  }
}
