# What slurm_test.go starts on two nodes as one server: one vLLM with tensor parallelism over
# two GPUs, both in one node or one in each, as in a published comparison (vLLM over Ray,
# Qwen2-7B-Instruct, 10 prompts of 1024/1024: TPOT 13.0 ms in one node, 43.8 ms over two).
# Answers of 128 tokens are enough for the direction; prefills then weigh more in the TPOT.
# The program on the nodes is this one's simulator, and nothing but the place differs.

pipeline {
  slurm {
    partition     = "main"
    time          = "20m"
    nodes         = 2
    gpus_per_node = 2
    queue_timeout = "1m"
  }
}

variable "program" {
  type = string
}

variable "fails" {
  type    = list(string)
  default = []
}

server "vllm" "place" {
  for_each   = { one = 1, two = 2 }
  executable = [var.program, "simulate", "--", "vllm"]
  version    = "0.33.0"
  model      = "Qwen/Qwen2-7B-Instruct"
  gpus       = 2
  nodes      = each.value
  stop_grace = "2s"
  args       = { tensor_parallel_size = 2, max_model_len = 8192 }

  env = {
    NCCL_IB_DISABLE   = "1"
    PIPELINE_SIMULATE = jsonencode({ engine = "vllm", version = "0.33.0", profile = "a10", startup_seconds = 0.05, time_scale = 1, fail = each.value > 1 ? var.fails : [] })
  }

  ready {
    interval = "50ms"
  }
}

dataset "random" "prompt" {
  input_len  = 1024
  output_len = 128
}

benchmark "burst" {
  matrix { place = ["one", "two"] }
  target  = server.vllm.place[matrix.place]
  dataset = dataset.random.prompt
  load {
    arrival  = "unlimited"
    requests = 10
  }
  limits {
    lag_p99    = "5s"
    burst_lag  = "5s"
    rate_share = "1%"
  }
  repeat {
    min = 1
    max = 1
  }
}
