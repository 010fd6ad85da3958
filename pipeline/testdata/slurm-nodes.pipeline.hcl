# What slurm_nodes_test.go starts on a cluster: one server on one node, and one that is
# spread over two. The axis is the place alone.

pipeline {
  slurm {
    partition     = "main"
    time          = "5m"
    nodes         = 2
    gpus_per_node = 2
    queue_timeout = "3m"
  }
}
variable "program" {
  type = string
}
variable "fails" {
  type    = list(string)
  default = []
}
server "vllm" "wide" {
  for_each   = { one = 1, two = 2 }
  executable = [var.program, "simulate", "--", "vllm"]
  version    = "0.33.0"
  model      = "Qwen/Qwen2-7B-Instruct"
  gpus       = 2
  nodes      = each.value
  stop_grace = "2s"
  args       = { tensor_parallel_size = 2, max_model_len = 4096 }
  env        = { NCCL_IB_DISABLE = "1", PIPELINE_SIMULATE = jsonencode({ engine = "vllm", version = "0.33.0", profile = "a10", startup_seconds = 0.05, time_scale = 1, fail = var.fails }) }
  ready {
    interval = "50ms"
  }
}
dataset "random" "short" {
  input_len  = 128
  output_len = 16
}
benchmark "b" {
  matrix {
    side = ["one", "two"]
  }
  target  = server.vllm.wide[matrix.side]
  dataset = dataset.random.short
  load {
    arrival  = "unlimited"
    requests = 20
  }
  repeat {
    min = 2
    max = 2
  }
}
