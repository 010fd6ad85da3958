# llama.cpp: a base, the same again, and one that leaves half of its layers to the CPU.

variable "llama_server" {
  type        = string
  description = "llama-server, built with CUDA."
  default     = "llama-server"
}

variable "model" {
  type        = string
  description = "GGUF file of the model that acceptance.py made."
  default     = "model"
}

server "llamacpp" "sut" {
  for_each   = { base = 99, again = 99, planted = 8 }
  executable = var.llama_server
  model      = var.model
  gpus       = 1

  args = {
    n_gpu_layers = each.value
    ctx_size     = 8192
    parallel     = 4
  }

  ready {
    interval = "50ms"
    timeout  = "5m"
  }
}

locals {
  sut = server.llamacpp.sut
}
