# KV transfer over RDMA and TCP against a colocated server.

locals {
  transports = { tcp = [], rdma = ["mlx5_0", "mlx5_1"] }
}

server "vllm" "base" {
  abstract = true
  image    = "vllm/vllm-openai:v0.11.0"
  model    = "Qwen/Qwen2.5-7B-Instruct"
  args     = { max_model_len = 8192 }

  container {
    ipc     = "host"
    network = "host"
    ulimits = { memlock = "-1" }
    devices = ["/dev/infiniband"]
  }
}

deployment "colocated" {
  server "vllm" "main" {
    extends = server.vllm.base
    gpus    = 2
    args    = { tensor_parallel_size = 2 }
  }
}

deployment "disaggregated" {
  for_each = local.transports

  kv_transfer "mooncake" {
    transport = each.key
    devices   = each.value
    buffer    = "5GiB"
  }

  service "etcd" {
  }

  service "etcd" "second" {
    port = 2380
  }

  server "vllm" "prefill" {
    extends = server.vllm.base
    role    = "producer"
    gpus    = 1
    env     = { NCCL_IB_DISABLE = each.key == "tcp" ? "1" : "0" }
  }

  server "vllm" "decode" {
    extends = server.vllm.base
    role    = "consumer"
    gpus    = 1
  }

  router "round_robin" {
    prefill = [self.server.prefill]
    decode  = [self.server.decode]
  }
}

dataset "random" "text" {
  input_len  = { min = 128, max = 256 }
  output_len = 150
}

benchmark "serving" {
  matrix {
    target = concat([deployment.colocated], values(deployment.disaggregated))
    qps    = [2, 8]

    exclude {
      when = matrix.target.id == deployment.disaggregated["tcp"].id && matrix.qps > 6
    }
  }

  target  = matrix.target
  dataset = dataset.random.text

  load {
    rate     = matrix.qps
    duration = "10m"
  }
}

baseline "paired" "tcp" {
  axis  = "target"
  value = deployment.disaggregated["tcp"]
}

baseline "stored" "main" {
  match = ["driver"]
}

gate "transport" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.tcp
  metrics   = [metric.ttft.p50, metric.ttft["p95"]]
  where     = matrix.qps <= 6
  margin    = 0.1
}

gate "history" {
  benchmark = benchmark.serving
  baseline  = baseline.stored.main
  metrics   = [metric.e2el.mean]
  margin    = "5%"
}

report "summary" "job" {
}
