# Base against head, from source.yaml (a vLLM recipe).
# The source describes no load: dataset and load below are a start. Replace them by your own.
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=IMAGE
#
# 17 parts were not carried over: see the end.

variable "base" {
  description = "Image from before the change."
  default     = "vllm/vllm-openai:v0.20.2"
}

variable "head" {
  description = "Image with the change. The default only holds its place."
  default     = "vllm/vllm-openai:head"
}

variable "rehearsal" {
  description = "With --simulate only: how much slower the head is."
  default     = "0%"
}

server "vllm" "default" {
  for_each = { base = var.base, head = var.head }
  image    = each.value
  model    = "MiniMaxAI/MiniMax-M2.5"
  gpus     = 1

  # Not carried over: precision = fp8 (a pipeline file has nothing for it)
  # Not carried over: vram_minimum_gb = 276 (a pipeline file has nothing for it)
  # Not carried over: description = Native FP8 checkpoint — 4x H200/H20/H100 or 4x A100/A800 for weights, plus
  # KV cache headroom (it is for people)
  args = {
    trust_remote_code = true
    compilation_config = {
      mode           = 3
      cudagraph_mode = "PIECEWISE"
      pass_config    = { fuse_minimax_qk_norm = true }
    }
  }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

server "vllm" "nvfp4" {
  for_each = { base = var.base, head = var.head }
  image    = each.value
  model    = "nvidia/MiniMax-M2.5-NVFP4"
  gpus     = 1

  # Not carried over: precision = nvfp4 (a pipeline file has nothing for it)
  # Not carried over: vram_minimum_gb = 138 (a pipeline file has nothing for it)
  # Not carried over: description = NVIDIA NVFP4 quantized weights for Blackwell GPUs (it is for people)
  args = {
    trust_remote_code = true
    compilation_config = {
      mode           = 3
      cudagraph_mode = "PIECEWISE"
      pass_config    = { fuse_minimax_qk_norm = true }
    }
    kv_cache_dtype = "fp8"
  }

  env = { VLLM_USE_FLASHINFER_MOE_FP4 = "1" }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

dataset "random" "chat" {
  input_len  = 512
  output_len = 64
}

benchmark "chat" {
  matrix {
    side = ["base", "head"]
  }

  target  = server.vllm.default[matrix.side]
  dataset = dataset.random.chat

  warmup {
    requests = 20
  }

  load {
    rate     = 4
    requests = 200
  }

  repeat {
    min = 4
    max = 8
  }
}

benchmark "chat_2" {
  matrix {
    side = ["base", "head"]
  }

  target  = server.vllm.nvfp4[matrix.side]
  dataset = dataset.random.chat

  warmup {
    requests = 20
  }

  load {
    rate     = 4
    requests = 200
  }

  repeat {
    min = 4
    max = 8
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "latency" {
  for_each = {
    chat   = benchmark.chat
    chat_2 = benchmark.chat_2
  }

  benchmark = each.value
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50, metric.e2el.p50]
  margin    = "5%"
}

# Not carried over:
# * model.min_vllm_version = 0.20.2 (name an image of that version or later)
# * model.architecture = moe (a pipeline file has nothing for it)
# * model.parameter_count = 230B (a pipeline file has nothing for it)
# * model.active_parameters = 10B (a pipeline file has nothing for it)
# * model.context_length = 196608 (a pipeline file has nothing for it)
# * features.tool_calling: --tool-call-parser minimax_m2 --enable-auto-tool-choice (write the arguments of
#   those that you use into args)
# * features.reasoning: --reasoning-parser minimax_m2 (write the arguments of those that you use into args)
# * meta = {"title":"MiniMax-M2.5","slug":"minimax-m2.5","provider":"MiniMax"} (it is for people)
# * opt_in_features = [] (a pipeline file has nothing for it)
# * compatible_strategies = ["single_node_tp","single_node_tep"] (write the parallel sizes of your machine
#   into args)
# * strategy_overrides = {"single_node_tp":{"tp":4}} (write the parallel sizes of your machine into args)
# * server default: precision = fp8 (a pipeline file has nothing for it)
# * server default: vram_minimum_gb = 276 (a pipeline file has nothing for it)
# * server default: description = Native FP8 checkpoint — 4x H200/H20/H100 or 4x A100/A800 for weights, plus
#   KV cache headroom (it is for people)
# * server nvfp4: precision = nvfp4 (a pipeline file has nothing for it)
# * server nvfp4: vram_minimum_gb = 138 (a pipeline file has nothing for it)
# * server nvfp4: description = NVIDIA NVFP4 quantized weights for Blackwell GPUs (it is for people)
