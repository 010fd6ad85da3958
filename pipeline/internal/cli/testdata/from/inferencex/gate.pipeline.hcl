# Base against head, from source.yaml (a master file of InferenceX).
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=IMAGE
#
# 11 parts were not carried over: see the end.

variable "base" {
  description = "Image from before the change."
  default     = "nvcr.io/nvidia/tensorrt-llm/release:1.1.0rc2.post2"
}

variable "head" {
  description = "Image with the change. The default only holds its place."
  default     = "nvcr.io/nvidia/tensorrt-llm/release:head"
}

variable "base_x70b_fp4_b200_vllm_tp1" {
  description = "Image from before the change."
  default     = "vllm/vllm-openai:v0.10.2"
}

variable "head_x70b_fp4_b200_vllm_tp1" {
  description = "Image with the change. The default only holds its place."
  default     = "vllm/vllm-openai:head"
}

variable "base_dsr1_fp8_b200_sgl_tp8_ep8" {
  description = "Image from before the change."
  default     = "lmsysorg/sglang:v0.5.3rc1-cu129-b200"
}

variable "head_dsr1_fp8_b200_sgl_tp8_ep8" {
  description = "Image with the change. The default only holds its place."
  default     = "lmsysorg/sglang:head"
}

variable "rehearsal" {
  description = "With --simulate only: how much slower the head is."
  default     = "0%"
}

server "trtllm" "x70b_fp4_b200_trt_tp1" {
  for_each = { base = var.base, head = var.head }
  image    = each.value
  model    = "nvidia/Llama-3.3-70B-Instruct-FP4"
  gpus     = 1
  # Not carried over: further arguments (they are in its script benchmarks/single_node/*.sh: write them into args)
  args = { tp_size = 1 }
}

server "vllm" "x70b_fp4_b200_vllm_tp1" {
  for_each = { base = var.base_x70b_fp4_b200_vllm_tp1, head = var.head_x70b_fp4_b200_vllm_tp1 }
  image    = each.value
  model    = "nvidia/Llama-3.3-70B-Instruct-FP4"
  gpus     = 1
  # Not carried over: further arguments (they are in its script benchmarks/single_node/*.sh: write them into args)
  args = { tensor_parallel_size = 1 }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

server "vllm" "x70b_fp4_b200_vllm_tp2" {
  for_each = { base = var.base_x70b_fp4_b200_vllm_tp1, head = var.head_x70b_fp4_b200_vllm_tp1 }
  image    = each.value
  model    = "nvidia/Llama-3.3-70B-Instruct-FP4"
  gpus     = 2
  # Not carried over: further arguments (they are in its script benchmarks/single_node/*.sh: write them into args)
  args = { tensor_parallel_size = 2 }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

server "sglang" "dsr1_fp8_b200_sgl_tp8_ep8" {
  for_each = {
    base = var.base_dsr1_fp8_b200_sgl_tp8_ep8
    head = var.head_dsr1_fp8_b200_sgl_tp8_ep8
  }

  image = each.value
  model = "deepseek-ai/DeepSeek-R1-0528"
  gpus  = 8
  # Not carried over: further arguments (they are in its script benchmarks/single_node/*.sh: write them into args)
  args = { tensor_parallel_size = 8, expert_parallel_size = 8 }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

dataset "random" "in_1024_out_1024" {
  input_len  = 1024
  output_len = 1024
}

dataset "random" "in_8192_out_1024" {
  input_len  = 8192
  output_len = 1024
}

benchmark "x70b_fp4_b200_trt_tp1_1024_1024" {
  matrix {
    side = ["base", "head"]
  }

  target  = server.trtllm.x70b_fp4_b200_trt_tp1[matrix.side]
  dataset = dataset.random.in_1024_out_1024

  load {
    max_concurrency = 128
    requests        = 1280
  }

  repeat {
    min = 4
    max = 8
  }
}

benchmark "x70b_fp4_b200_vllm_tp1_1024_1024" {
  matrix {
    side = ["base", "head"]
  }

  target  = server.vllm.x70b_fp4_b200_vllm_tp1[matrix.side]
  dataset = dataset.random.in_1024_out_1024

  load {
    max_concurrency = 64
    requests        = 640
  }

  repeat {
    min = 4
    max = 8
  }
}

benchmark "x70b_fp4_b200_vllm_tp2_1024_1024" {
  matrix {
    side        = ["base", "head"]
    concurrency = [32, 64]
  }

  target  = server.vllm.x70b_fp4_b200_vllm_tp2[matrix.side]
  dataset = dataset.random.in_1024_out_1024

  load {
    max_concurrency = matrix.concurrency
    requests        = 10 * matrix.concurrency
  }

  repeat {
    min = 4
    max = 8
  }
}

benchmark "x70b_fp4_b200_vllm_tp2_8192_1024" {
  matrix {
    side        = ["base", "head"]
    concurrency = [16, 32, 64]
  }

  target  = server.vllm.x70b_fp4_b200_vllm_tp2[matrix.side]
  dataset = dataset.random.in_8192_out_1024

  load {
    max_concurrency = matrix.concurrency
    requests        = 10 * matrix.concurrency
  }

  repeat {
    min = 4
    max = 8
  }
}

benchmark "dsr1_fp8_b200_sgl_tp8_ep8_1024_1024" {
  matrix {
    side        = ["base", "head"]
    concurrency = [4, 8, 16, 32, 64]
  }

  target  = server.sglang.dsr1_fp8_b200_sgl_tp8_ep8[matrix.side]
  dataset = dataset.random.in_1024_out_1024

  load {
    max_concurrency = matrix.concurrency
    requests        = 10 * matrix.concurrency
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
    x70b_fp4_b200_trt_tp1_1024_1024     = benchmark.x70b_fp4_b200_trt_tp1_1024_1024
    x70b_fp4_b200_vllm_tp1_1024_1024    = benchmark.x70b_fp4_b200_vllm_tp1_1024_1024
    x70b_fp4_b200_vllm_tp2_1024_1024    = benchmark.x70b_fp4_b200_vllm_tp2_1024_1024
    x70b_fp4_b200_vllm_tp2_8192_1024    = benchmark.x70b_fp4_b200_vllm_tp2_8192_1024
    dsr1_fp8_b200_sgl_tp8_ep8_1024_1024 = benchmark.dsr1_fp8_b200_sgl_tp8_ep8_1024_1024
  }

  benchmark = each.value
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50, metric.e2el.p50]
  margin    = "5%"
}

# Not carried over:
# * 70b-fp4-b200-trt.runner = b200-trt (see the labels of the runner)
# * 70b-fp4-b200-trt.precision = fp4 (it is for people)
# * 70b-fp4-b200-vllm.runner = b200 (see the labels of the runner)
# * 70b-fp4-b200-vllm.precision = fp4 (it is for people)
# * dsr1-fp8-b200-sgl.runner = b200 (see the labels of the runner)
# * dsr1-fp8-b200-sgl.precision = fp8 (it is for people)
# * dsr1-fp4-b200-dynamo-trt (it runs on several nodes: read the recipe of srt-slurm that its CONFIG_FILE names)
# * server x70b_fp4_b200_trt_tp1: further arguments (they are in its script benchmarks/single_node/*.sh: write
#   them into args)
# * server x70b_fp4_b200_vllm_tp1: further arguments (they are in its script benchmarks/single_node/*.sh:
#   write them into args)
# * server x70b_fp4_b200_vllm_tp2: further arguments (they are in its script benchmarks/single_node/*.sh:
#   write them into args)
# * server dsr1_fp8_b200_sgl_tp8_ep8: further arguments (they are in its script benchmarks/single_node/*.sh:
#   write them into args)
