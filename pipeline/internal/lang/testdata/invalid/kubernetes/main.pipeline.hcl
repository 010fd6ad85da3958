pipeline {
  kubernetes {
    image         = "registry.example/pipeline:v1"
    namespace     = "llm.bench"
    nodes         = 4
    load_node     = 3
    gpu_resource  = "gpu"
    node_selector = { "nvidia.com/gpu.product" = "H100 80GB" }
    resources     = { cores = "16" }
    secrets       = { HF_TOKEN = "huggingface/token" }
  }
}

server "vllm" "sut" {
  for_each = toset(["base", "head"])
  image    = "vllm/vllm-openai:${each.key}"
  model    = "tiny"

  env = {
    HF_TOKEN = "hf_mine"
  }

  container {
    volumes = { Model_Weights = "/models" }
  }
}

dataset "random" "chat" {
  input_len  = 128
  output_len = 32
}

benchmark "b" {
  matrix {
    side = ["base", "head"]
  }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.chat
  load {
    rate     = 2
    requests = 100
  }
}
