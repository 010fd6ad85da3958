# Metrics of one's own: what a series of /metrics did while a run was measured. Here the tokens that speculative
# decoding drafts for one that is put out, the tokens that were accepted at the fourth place of a draft, and how full the
# KV cache was.
#
#   pipeline run measures.pipeline.hcl --simulate=virtual                     # equal: passes
#   pipeline run measures.pipeline.hcl --simulate=virtual --var drafts=5      # more is drafted in vain: a regression

pipeline {
  description = "Waste of speculative decoding"
}

variable "drafts" {
  type        = number
  description = "Tokens that the head drafts in a step."
  default     = 4
}

server "vllm" "base" {
  abstract   = true
  executable = "vllm"
  version    = "0.11.0"
  model      = "Qwen/Qwen2.5-7B-Instruct"
  args       = { max_model_len = 4096 }
  simulate {
    profile    = "h100"
    acceptance = "70%"
  }
}

server "vllm" "old" {
  extends = server.vllm.base
  args    = { speculative_config = { method = "ngram", num_speculative_tokens = 4, prompt_lookup_max = 3 } }
}

server "vllm" "new" {
  extends = server.vllm.base
  args    = { speculative_config = { method = "ngram", num_speculative_tokens = var.drafts, prompt_lookup_max = 5 } }
}

dataset "random" "prompts" {
  input_len  = 256
  output_len = 128
}

benchmark "serving" {
  matrix { side = [server.vllm.old, server.vllm.new] }
  target  = matrix.side
  dataset = dataset.random.prompts
  seed    = 1
  load {
    rate     = 10
    requests = 300
  }
  warmup { requests = 8 }
  repeat { max = 6 }
}

# A counter by what the client counts.
measure "drafted" {
  description = "Drafted per output token"
  series      = "vllm:spec_decode_num_draft_tokens_total"
  kind        = "counter"
  per         = "output_token"
  unit        = "tokens"
  better      = "lower"
}

# One of several series with the same name.
measure "fourth" {
  description = "Accepted at the fourth place"
  series      = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
  labels      = { position = "3" } # counted from 0
  kind        = "counter"
  per         = "request"
  unit        = "tokens"
  better      = "higher"
}

# A gauge, sampled once a second.
measure "kv_peak" {
  description = "KV cache peak"
  series      = "vllm:kv_cache_usage_perc"
  kind        = "gauge"
  statistic   = "max"
  across      = "max"
  unit        = "fraction" # 1 means 100 percent, whatever its name says
  better      = "lower"
}

baseline "paired" "old" {
  axis  = "side"
  value = server.vllm.old
}

gate "waste" {
  description = "What is drafted for an output token"
  benchmark   = benchmark.serving
  baseline    = baseline.paired.old
  metrics     = [metric.measure.drafted, metric.measure.fourth]
  margin      = "3%"
}

gate "kv" {
  description = "Room for more users"
  benchmark   = benchmark.serving
  baseline    = baseline.paired.old
  metrics     = [metric.measure.kv_peak]
  margin      = "2pp"
}

gate "limit" {
  description = "No more than three drafted for one"
  benchmark   = benchmark.serving
  assert {
    condition     = self.measure.drafted <= 3
    error_message = "${self.measure.drafted} tokens were drafted for one"
  }
}

report "file" "all" {
  formats = ["markdown", "text", "json", "html", "csv"]
}
