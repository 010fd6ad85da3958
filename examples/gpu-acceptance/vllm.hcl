# vLLM: a base, the same again, and one without CUDA graphs. Its model is small, so that it feels each launch of a kernel.

variable "vllm" {
  type        = list(string)
  description = "vLLM's program."
  default     = ["vllm"]
}

variable "model" {
  type        = string
  description = "Folder of the model that acceptance.py made."
  default     = "model"
}

server "vllm" "sut" {
  for_each    = { base = false, again = false, planted = true }
  executable  = var.vllm
  model       = var.model
  served_name = "random"
  gpus        = 1

  args = {
    dtype                   = "bfloat16"
    max_model_len           = 2048
    max_num_seqs            = 64
    enforce_eager           = each.value
    gpu_memory_utilization  = 0.3
    num_gpu_blocks_override = 4096
    seed                    = 0
  }

  env = {
    HF_HUB_OFFLINE       = "1"
    VLLM_NO_USAGE_STATS  = "1"
    VLLM_SERVER_DEV_MODE = "1" # lets the cache be reset between probes
  }

  ready {
    timeout = "5m"
  }
}

locals {
  sut = server.vllm.sut
}
