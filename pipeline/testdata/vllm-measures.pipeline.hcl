# What a real vLLM on the CPU counts: drafts by n-grams, a prefix cache, a queue and preemptions.

variable "venv" {
  type = string
}

server "vllm" "counts" {
  executable  = "${var.venv}/bin/vllm"
  model       = "${var.venv}/model"
  served_name = "tiny"
  version     = "0.32.0"

  args = {
    dtype                   = "bfloat16"
    max_model_len           = 1024
    enforce_eager           = true
    seed                    = 0
    block_size              = 32
    max_num_seqs            = 8
    num_gpu_blocks_override = 100 # 3,200 tokens: eight requests do not fit, so that some are preempted
    enable_prefix_caching   = true
    speculative_config      = { method = "ngram", num_speculative_tokens = 3, prompt_lookup_max = 3, prompt_lookup_min = 1 }
  }

  env = {
    HF_HUB_OFFLINE         = "1"
    VLLM_SERVER_DEV_MODE   = "1" # lets the cache be reset between runs
    VLLM_CPU_KVCACHE_SPACE = "1" # GiB
    VLLM_NO_USAGE_STATS    = "1"
  }

  ready {
    timeout  = "10m"
    interval = "1s"
  }
}

dataset "random" "shared" {
  input_len  = 288
  prefix_len = 256
  output_len = 384
}

benchmark "counted" {
  target  = server.vllm.counts
  dataset = dataset.random.shared
  load {
    arrival         = "closed"
    max_concurrency = 16
    requests        = 100
  }
  warmup { requests = 4 }
  limits {
    lag_p99    = "5s"
    rate_share = "1%"
  }
  repeat { max = 1 }
}

measure "accepted" {
  description = "Accepted drafts per request"
  series      = "vllm:spec_decode_num_accepted_tokens_total"
  kind        = "counter"
  per         = "request"
  unit        = "tokens"
  better      = "higher"
}

measure "acceptance" {
  description = "Accepted of drafted"
  series      = "vllm:spec_decode_num_accepted_tokens_total"
  kind        = "counter"
  over        = "vllm:spec_decode_num_draft_tokens_total"
  unit        = "fraction"
  better      = "higher"
}

measure "queued" {
  description = "Time in the queue"
  series      = "vllm:request_queue_time_seconds"
  kind        = "histogram"
  statistic   = "mean"
  unit        = "s"
  better      = "lower"
}

gate "counted" {
  benchmark = benchmark.counted
  assert {
    condition     = self.errors == 0 && self.measure.acceptance >= 0 && self.acceptance.rate >= 0 && self.prefix_cache.hit_rate > 0
    error_message = "Nothing was counted."
  }
}
