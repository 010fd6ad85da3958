# One server that cannot start, for TestRealVLLM/failures. What is wrong is given by --var.

variable "venv" { type = string }

variable "model" {
  type    = string
  default = ""
}

variable "port" {
  type    = number
  default = null
}

variable "wrong" {
  type    = map(any)
  default = {}
}

server "vllm" "sut" {
  executable  = "${var.venv}/bin/vllm"
  model       = var.model == "" ? "${var.venv}/model" : var.model
  served_name = "tiny"
  port        = var.port
  args        = merge({ dtype = "bfloat16", max_model_len = 2048, enforce_eager = true }, var.wrong)

  env = {
    HF_HUB_OFFLINE      = "1"
    VLLM_NO_USAGE_STATS = "1"
  }
}

dataset "random" "short" {
  input_len  = 64
  output_len = 8
}

benchmark "none" {
  target  = server.vllm.sut
  dataset = dataset.random.short

  load {
    arrival  = "unlimited"
    requests = 4
  }

  repeat {
    min = 1
    max = 1
  }
}
