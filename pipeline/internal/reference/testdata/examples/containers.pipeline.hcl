# Arguments of servers in containers, and of what a run is allowed.
pipeline {
  required_version = ">= 0.1"
  alpha            = "10%"

  docker {
    host {
      url     = "ssh://root@node1"
      address = "10.0.0.1"
    }
  }

  price {
    machine_hour = "2 USD"
  }

  budget {
    gpu_time = "8h"
    time     = "2h"
  }

  profile {
    profiler = "nsys"
    delay    = "5s"
    timeout  = "20m"
  }

  variance {
    within      = 2
    calibration = "calibration.json"
  }
}

variable "tag" {
  type     = string
  default  = "v0.11.0"
  nullable = false
}

server "vllm" "sut" {
  for_each   = { base = "v0.10.2", head = var.tag }
  image      = "vllm/vllm-openai:${each.value}"
  model      = "Qwen/Qwen2.5-7B-Instruct"
  gpus       = 1
  port       = 8000
  node       = 0
  api_key    = "secret"
  stop_grace = "1m"

  ready {
    path    = "/health"
    timeout = "20m"
  }

  container {
    entrypoint   = ["vllm", "serve"]
    platform     = "linux/amd64"
    pid          = "host"
    privileged   = true
    workdir      = "/root"
    user         = "1000:1000"
    init         = false
    labels       = { team = "serving" }
    memory       = "64GiB"
    cpuset       = "0-15"
    memset       = "0"
    cap_drop     = ["NET_RAW"]
    security_opt = ["seccomp=unconfined"]
    group_add    = ["video"]
    gpus         = ["GPU-4e12a1b2"]
    runtime      = "nvidia"
    tmpfs        = { "/scratch" = "size=8g" }
  }

  cache {
    volume = "vllm-compiled-${each.key}"
    path   = "/root/.cache/vllm"
  }

  simulate {
    parameters        = 32e9
    active_parameters = 3e9
    layers            = 48
    hidden_size       = 5120
    heads             = 40
    kv_heads          = 8
    head_dim          = 128
    weight_bits       = 8
    drift             = "4%"
    fail              = ["oom"]
    seed              = 7
  }
}

dataset "prefix_repetition" "shared" {
  num_prefixes = 4
  prefix_len   = 1024
  suffix_len   = 128
  output_len   = 64
}

benchmark "serving" {
  matrix {
    side = ["base", "head"]
    rate = [2, 4]
  }

  target      = server.vllm.sut[matrix.side]
  dataset     = dataset.prefix_repetition.shared
  temperature = 0.7
  body        = { top_p = 0.9 }
  models      = { base = 1, sql-lora = 3 }

  load {
    rate       = matrix.rate
    burstiness = 0.5
    requests   = 200

    ramp {
      from = 1
      over = "30s"
    }
  }

  goodput {
    ttft = "500ms"
    tpot = "50ms"
    e2el = "10s"
  }

  repeat {
    min = 8
    max = 8
  }

  limits {
    lag_share       = "5%"
    burst_lag       = "100ms"
    clock_step      = "5ms"
    coalesced_share = "20%"
    gc_pause        = "10ms"
  }
}

baseline "paired" "before" {
  axis  = "side"
  value = "base"
}

gate "latency" {
  for_each        = { pr = "5%", nightly = "2%" }
  benchmark       = benchmark.serving
  baseline        = baseline.paired.before
  metrics         = [metric.ttft.p50]
  margin          = each.value
  suite_margin    = "2%"
  alpha           = "2%"
  test            = "sign_flip"
  strict          = true
  allow_overload  = true
  on_inconclusive = "fail"
  on_missing      = "warn"
  on_invalid      = "warn"
}

report "github" "comment" {
  gates  = [gate.latency["pr"]]
  rows   = ["rate"]
  cols   = "side"
  key    = "serving"
  check  = "performance"
  status = "performance/serving"
}

report "file" "kept" {
  path    = "reports"
  formats = ["markdown"]
}
