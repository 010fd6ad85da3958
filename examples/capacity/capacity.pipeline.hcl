# How much load it carries: chunked prefill off against on, as a question of capacity.
#
#   pipeline run capacity.pipeline.hcl --simulate=virtual
#   pipeline run capacity.pipeline.hcl --simulate=virtual --var slowdown=10%
#
# Each launch is searched for the highest request rate at which the limits below hold together.

pipeline {
  description = "Requests per second within a TTFT and a TPOT limit"
}

variable "repeats" {
  type        = number
  description = "Launches of each side."
  default     = 6
}

variable "slowdown" {
  type        = string
  description = "How much slower the head of a rehearsal is made."
  default     = "0%"
}

variable "head" {
  type        = string
  description = "Chunked prefill of the head: \"on\", or \"off\" to compare two equal sides."
  default     = "on"
}

server "vllm" "base" {
  abstract   = true # a template: extended, never launched
  executable = "vllm"
  version    = "0.6.4"
  model      = "Qwen/Qwen2.5-7B-Instruct"
  args       = { max_model_len = 4096 }
}

# simulate is read with --simulate only.
server "vllm" "off" {
  extends = server.vllm.base
  args    = { enable_chunked_prefill = false }
  simulate { profile = "fast" }
}

server "vllm" "on" {
  extends = server.vllm.base
  args    = { enable_chunked_prefill = var.head == "on" }
  simulate {
    profile  = "fast"
    slowdown = var.slowdown
  }
}

dataset "random" "long_prompts" {
  input_len  = 1024
  output_len = 8
}

benchmark "serving" {
  description = "Long prompts, short answers, at the highest rate within the SLO"
  matrix { side = [server.vllm.off, server.vllm.on] }
  target  = matrix.side
  dataset = dataset.random.long_prompts
  seed    = 1

  load {
    requests = 400 # of each probe

    search {
      min = 2
      max = 32

      slo {
        metric = metric.ttft.p95
        limit  = "500ms"
      }
      slo {
        metric = metric.tpot.mean
        limit  = "100ms"
      }
    }
  }

  warmup { requests = 8 }
  repeat { max = var.repeats }
}

baseline "paired" "off" {
  axis  = "side"
  value = server.vllm.off
}

gate "capacity" {
  description = "Requests per second within the SLO"
  benchmark   = benchmark.serving
  baseline    = baseline.paired.off
  metrics     = [metric.capacity.rate]
  margin      = "5%"
}

report "file" "all" {
  formats = ["markdown", "text", "json", "html"]
}
