# A pair of real vLLM servers in containers, for TestRealVLLMPairInContainers. Their image
# is empty: they see the machine's libraries, its Python and vLLM's folder, to be read only.

variable "image" { type = string }

variable "venv" { type = string }

variable "python" {
  type        = string
  description = "Folder of the Python that the environment was made with."
}

server "vllm" "base" {
  abstract    = true
  image       = var.image
  model       = "${var.venv}/model"
  served_name = "tiny"
  version     = "0.32.0"

  args = {
    dtype         = "bfloat16"
    max_model_len = 2048
    block_size    = 32
    enforce_eager = true
  }

  env = {
    HOME                   = "/tmp"
    HF_HUB_OFFLINE         = "1"
    VLLM_CPU_KVCACHE_SPACE = "1" # GiB
    VLLM_NO_USAGE_STATS    = "1"
  }

  container {
    entrypoint = ["${var.venv}/bin/vllm"]
    pull       = "never"
    network    = "host"
    shm_size   = "1GiB"
    tmpfs      = { "/tmp" = "" }
    mounts     = ["/usr:/usr:ro", "/usr/lib:/lib:ro", "/usr/lib64:/lib64:ro", "/usr/bin:/bin:ro", "${var.python}:${var.python}:ro", "${var.venv}:${var.venv}:ro"]
  }

  ready {
    timeout  = "10m"
    interval = "1s"
  }
}

deployment "nixl" {
  kv_transfer "nixl" {
    transport = "tcp"
    config    = { kv_buffer_device = "cpu" }
  }
  server "vllm" "prefill" {
    extends = server.vllm.base
    role    = "producer"
    env     = { VLLM_CPU_OMP_THREADS_BIND = "0" }
  }
  server "vllm" "decode" {
    extends = server.vllm.base
    role    = "consumer"
    env     = { VLLM_CPU_OMP_THREADS_BIND = "1" }
  }
  router "nixl" {
    prefill = [self.server.prefill]
    decode  = [self.server.decode]
  }
}

dataset "random" "prompts" {
  input_len  = 640
  output_len = 16
}

benchmark "pairs" {
  target  = deployment.nixl
  dataset = dataset.random.prompts
  load {
    rate     = 4
    requests = 20
  }
  warmup {
    requests = 5
  }
  limits {
    lag_p99    = "5s"
    rate_share = "10%"
  }
  repeat {
    min = 1
    max = 1
  }
}
