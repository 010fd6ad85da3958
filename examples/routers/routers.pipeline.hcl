# A router's policy gated without a GPU: SGLang's router, as it is, before four simulated engines with prefix caches.
#
#   ./setup.sh ../../out/router                                                                # installs the router, 150 MB
#   pipeline run routers.pipeline.hcl --simulate                                               # cache_aware against round_robin: an improvement
#   pipeline run routers.pipeline.hcl --simulate --var base=cache_aware --var head=round_robin # a regression
#
# Sixteen system prompts of 4,096 tokens do not fit into one engine's cache, but four of them do. A router that sends a prompt to
# the engine that has seen it finds nearly all in the caches, and one that takes turns finds little.

pipeline {
  description = "Policy of a router before four engines"
}

variable "dir" {
  type        = string
  description = "Folder that setup.sh filled."
  default     = "../../out/router"
}

variable "base" {
  type        = string
  description = "Policy of the base."
  default     = "round_robin"
}

variable "head" {
  type        = string
  description = "Policy of the head: cache_aware, round_robin, random or power_of_two."
  default     = "cache_aware"
}

server "sglang" "engine" {
  abstract   = true
  executable = ["python3", "-m", "sglang.launch_server"]
  version    = "0.5.4"
  model      = "Qwen/Qwen2.5-7B-Instruct"
  args       = { max_total_tokens = 32768 }

  simulate {
    profile = "h100"
    startup = "50ms"
  }
}

deployment "fleet" {
  for_each = { base = var.base, head = var.head }

  server "sglang" "a" {
    extends = server.sglang.engine
  }
  server "sglang" "b" {
    extends = server.sglang.engine
  }
  server "sglang" "c" {
    extends = server.sglang.engine
  }
  server "sglang" "d" {
    extends = server.sglang.engine
  }

  router "exec" {
    decode = [self.server.a, self.server.b, self.server.c, self.server.d]
    command = [
      "${var.dir}/bin/sglang-router", "launch", "--host", router.host, "--port", router.port, "--policy", each.value,
      "--prometheus-port", router.metrics_port, "--worker-urls", router.decode,
    ]
    env = { HTTPS_PROXY = "127.0.0.1:9" } # it asks nobody for a tokenizer, which it does not need here
  }
}

dataset "prefix_repetition" "tenants" {
  num_prefixes = 16
  prefix_len   = 4096
  suffix_len   = 128
  output_len   = 32
}

benchmark "serving" {
  matrix { side = ["base", "head"] }
  target  = deployment.fleet[matrix.side]
  dataset = dataset.prefix_repetition.tenants
  seed    = 1
  load {
    rate     = 20
    requests = 200
  }
  warmup { requests = 64 }
  limits { # of a machine that pull requests share: what the policy changes is many times larger
    lag_p99    = "250ms"
    rate_share = "5%"
  }
  repeat { max = 4 }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "cache" {
  description = "Prompt tokens found in the engines' caches"
  benchmark   = benchmark.serving
  baseline    = baseline.paired.base
  metrics     = [metric.prefix_cache.hit_rate]
  margin      = "5pp"
}

gate "balance" {
  description = "Tokens of the mean engine against those of the busiest one"
  benchmark   = benchmark.serving
  baseline    = baseline.paired.base
  metrics     = [metric.replica.balancedness]
  margin      = "10pp" # what following the caches may cost
}

gate "latency" {
  description = "Time to the first token, and its tail"
  benchmark   = benchmark.serving
  baseline    = baseline.paired.base
  metrics     = [metric.ttft.mean, metric.ttft.p95]
  margin      = "50%"
}

report "file" "all" {
  formats = ["markdown", "text"]
}
