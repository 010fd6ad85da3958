# A real vLLM on the CPU that pools, spread over two processes that connect as those of two nodes do.

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
    runner               = "pooling"
    convert              = "embed"
    dtype                = "bfloat16"
    max_model_len        = 2048
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

dataset "random" "texts" {
  input_len  = 24
  output_len = 1
}

dataset "rerank" "queries" {
  input_len = 24
}

dataset "file" "queries" {
  path = "queries.jsonl"
}

benchmark "embeddings" {
  target   = server.vllm.s
  endpoint = "embeddings"
  dataset  = dataset.random.texts
  load {
    arrival         = "closed"
    max_concurrency = 2
    requests        = 3
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
benchmark "rerank" {
  target   = server.vllm.s
  endpoint = "rerank"
  dataset  = dataset.rerank.queries
  load {
    arrival         = "closed"
    max_concurrency = 2
    requests        = 3
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
benchmark "file" {
  target   = server.vllm.s
  endpoint = "rerank"
  dataset  = dataset.file.queries
  load {
    arrival         = "closed"
    max_concurrency = 2
    requests        = 3
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
