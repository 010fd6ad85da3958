# Sessions of coding agents as they were recorded: calls that wait for each other and for their tools.
#
#   pipeline run agents.pipeline.hcl --simulate=virtual                        # equal: passes
#   pipeline run agents.pipeline.hcl --simulate=virtual --var prefix_cache=false
#
# Without its prefix cache the head computes each prompt anew: a regression of every answer's first token and of the sessions.

pipeline {
  description = "Recorded agents on one vLLM server"
}

variable "prefix_cache" {
  type        = bool
  description = "Whether the head keeps its prefix cache."
  default     = true
}

server "vllm" "base" {
  abstract   = true
  executable = "vllm"
  version    = "0.11.0"
  model      = "Qwen/Qwen2.5-7B-Instruct"
  args       = { max_model_len = 16384 }
  simulate { profile = "h100" }
}

server "vllm" "old" {
  extends = server.vllm.base
}

server "vllm" "new" {
  extends = server.vllm.base
  args    = { enable_prefix_caching = var.prefix_cache }
}

# Lines with session_id, duration and parents say what a call waited for. OpenTelemetry's spans and the traces of Weka and
# AgentX are read as well.
dataset "trace" "agents" {
  path = "trace.jsonl"
}

benchmark "agents" {
  description = "All sessions, each call when those before it have ended and its tools had their time"
  matrix { side = [server.vllm.old, server.vllm.new] }
  target  = matrix.side
  dataset = dataset.trace.agents
  load {
    arrival  = "trace"
    requests = 140
  }
  repeat { max = 6 }
}

benchmark "crowd" {
  description = "Eight agents at once, each with one session after the other"
  matrix { side = [server.vllm.old, server.vllm.new] }
  target  = matrix.side
  dataset = dataset.trace.agents
  load {
    arrival         = "closed"
    max_concurrency = 8
    requests        = 140
  }
  repeat { max = 6 }
}

baseline "paired" "agents" {
  axis  = "side"
  value = server.vllm.old
}

gate "agents" {
  benchmark = benchmark.agents
  baseline  = baseline.paired.agents
  metrics   = [metric.ttft.mean, metric.session_time.mean]
  margin    = "5%"
}

gate "crowd" {
  benchmark = benchmark.crowd
  baseline  = baseline.paired.agents
  metrics   = [metric.session_time.mean]
  margin    = "5%"
}

report "file" "all" {
  formats = ["markdown", "text", "json", "html"]
}
