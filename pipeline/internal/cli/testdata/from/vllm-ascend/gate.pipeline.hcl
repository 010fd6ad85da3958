# Base against head, from source.yaml (a nightly of vllm-ascend).
# The source describes no load: dataset and load below are a start. Replace them by your own.
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=PROGRAM
#
# 2 parts were not carried over: see the end.

variable "base" {
  description = "Program from before the change."
  default     = "vllm"
}

variable "head" {
  description = "Program with the change. The default only holds its place."
  default     = "head/bin/vllm"
}

variable "rehearsal" {
  description = "With --simulate only: how much slower the head is."
  default     = "0%"
}

server "vllm" "qwen3_32b_w8a8_aclgraph_a3" {
  for_each   = { base = var.base, head = var.head }
  executable = each.value
  model      = "vllm-ascend/Qwen3-32B-W8A8"
  gpus       = 4

  # Not carried over: benchmarks.acc =
  # {"case_type":"accuracy","dataset_path":"vllm-ascend/gsm8k-lite","request_conf":"vllm_api_general_chat","dataset_conf":"gsm8k/gsm8k_gen_0_shot_noncot_chat_prompt…
  # (aisbench loads it with a dataset of its own: write a dataset file and a load, or see driver "exec")
  # Not carried over: benchmarks.perf =
  # {"case_type":"performance","dataset_path":"vllm-ascend/GSM8K-in3500-bs400","request_conf":"vllm_api_stream_chat","dataset_conf":"gsm8k/gsm8k_gen_0_shot_cot_str_…
  # (aisbench loads it with a dataset of its own: write a dataset file and a load, or see driver "exec")
  args = {
    quantization           = "ascend"
    enable_prefix_caching  = false
    tensor_parallel_size   = 4
    max_num_seqs           = 80
    max_model_len          = 40960
    max_num_batched_tokens = 40960
    block_size             = 128
    trust_remote_code      = true
    gpu_memory_utilization = 0.9
    compilation_config = {
      cudagraph_mode          = "FULL_DECODE_ONLY"
      cudagraph_capture_sizes = [1, 12, 16, 20, 24, 32, 48, 60, 64, 68, 72, 76, 80]
    }
  }

  env = {
    TASK_QUEUE_ENABLE        = "1"
    PYTORCH_NPU_ALLOC_CONF   = "expandable_segments:True"
    HCCL_OP_EXPANSION_MODE   = "AIV"
    VLLM_USE_V2_MODEL_RUNNER = "1"
  }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

server "vllm" "qwen3_32b_w8a8_single_a3" {
  for_each   = { base = var.base, head = var.head }
  executable = each.value
  model      = "vllm-ascend/Qwen3-32B-W8A8"
  gpus       = 4

  args = {
    quantization           = "ascend"
    enable_prefix_caching  = false
    tensor_parallel_size   = 4
    max_num_seqs           = 80
    max_model_len          = 40960
    max_num_batched_tokens = 40960
    block_size             = 128
    trust_remote_code      = true
    gpu_memory_utilization = 0.9
    enforce_eager          = true
  }

  env = {
    TASK_QUEUE_ENABLE        = "1"
    PYTORCH_NPU_ALLOC_CONF   = "expandable_segments:True"
    HCCL_OP_EXPANSION_MODE   = "AIV"
    VLLM_USE_V2_MODEL_RUNNER = "1"
  }

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

  target  = server.vllm.qwen3_32b_w8a8_aclgraph_a3[matrix.side]
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

  target  = server.vllm.qwen3_32b_w8a8_single_a3[matrix.side]
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
# * server qwen3_32b_w8a8_aclgraph_a3: benchmarks.acc =
#   {"case_type":"accuracy","dataset_path":"vllm-ascend/gsm8k-lite","request_conf":"vllm_api_general_chat","dataset_conf":"gsm8k/gsm8k_gen_0_shot_noncot_chat_prompt…
#   (aisbench loads it with a dataset of its own: write a dataset file and a load, or see driver "exec")
# * server qwen3_32b_w8a8_aclgraph_a3: benchmarks.perf =
#   {"case_type":"performance","dataset_path":"vllm-ascend/GSM8K-in3500-bs400","request_conf":"vllm_api_stream_chat","dataset_conf":"gsm8k/gsm8k_gen_0_shot_cot_str_…
#   (aisbench loads it with a dataset of its own: write a dataset file and a load, or see driver "exec")
