# Arguments of steps, of servers that are programs, and of datasets.
variable "base" {
  type    = object({ path = string, version = string })
  default = { path = "/opt/base", version = "1" }
}

variable "head" {
  type    = object({ path = string, version = string })
  default = { path = "/opt/head", version = "2" }
}

pipeline {
  bisect {
    good       = "base"
    candidate  = "head"
    repository = "../engine"

    build {
      command = ["make", "wheel"]
      env     = { MAX_JOBS = "16" }
      outputs = ["version"]
    }
  }
}

step "exec" "weights" {
  for_each = toset(["7b", "32b"])
  command  = ["./fetch.sh", each.key]
  dir      = "weights"
  env      = { HF_HUB_OFFLINE = "0" }
  outputs  = ["path"]
}

step "http" "announce" {
  depends_on    = [step.exec.weights]
  url           = "http://127.0.0.1:9000/runs"
  method        = "POST"
  headers       = { Authorization = "Bearer secret" }
  body          = { name = "nightly" }
  expect_status = [200, 201]
  outputs       = { id = "/data/0/id" }

  retry {
    attempts = 5
    interval = "10s"
  }
}

server "vllm" "sut" {
  for_each   = { base = var.base.path, head = var.head.path }
  depends_on = [step.http.announce]
  executable = "${each.value}/bin/vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
  dir        = "engine"

  cache {
    folder = "cache/${each.key}"
    env    = "VLLM_CACHE_ROOT"
  }
}

server "openai" "running" {
  url   = "http://127.0.0.1:8000"
  model = "Qwen/Qwen2.5-7B-Instruct"
}

deployment "fleet" {
  server "vllm" "a" {
    executable = "/opt/vllm/bin/vllm"
    model      = "Qwen/Qwen2.5-7B-Instruct"
  }

  server "vllm" "b" {
    executable = "/opt/vllm/bin/vllm"
    model      = "Qwen/Qwen2.5-7B-Instruct"
  }

  router "exec" {
    decode  = [self.server.a, self.server.b]
    command = ["./router", "--port", router.port, "--backends", router.decode]
  }
}

dataset "chat" "turns" {
  turns        = 4
  input_len    = 512
  output_len   = 128
  real_answers = true
}

dataset "random" "prompts" {
  input_len  = 512
  output_len = 64
}

dataset "file" "prompts" {
  path = "prompts.jsonl"
  seed = 3
}

dataset "sharegpt" "shared" {
  path      = "sharegpt.json"
  seed      = 3
  max_input = 2048
  max_total = 4096
}

dataset "multimodal" "pictures" {
  input_len     = 64
  output_len    = 64
  images        = 2
  image_width   = 512
  image_height  = 512
  sounds        = 1
  sound_seconds = 10
}

dataset "rerank" "documents" {
  query_len = 16
  documents = 20
}

dataset "trace" "day" {
  path         = "trace.jsonl"
  time_scale   = 0.5
  block_size   = 16
  real_answers = true
}

benchmark "serving" {
  matrix {
    side = ["base", "head"]
  }

  target     = server.vllm.sut[matrix.side]
  dataset    = dataset.random.prompts
  prefix_len = 256

  load {
    rate     = 4
    ramp     = "10s"
    requests = 100
  }

  repeat {
    max = 4
  }
}

answers "same" {
  matrix {
    side = ["base", "head"]
  }

  description     = "The head gives the answers of the base."
  target          = server.vllm.sut[matrix.side]
  dataset         = dataset.random.prompts
  input_len       = 256
  output_len      = 128
  prefix_len      = 64
  ignore_eos      = true
  body            = { repetition_penalty = 1.1 }
  models          = { base = 1, sql-lora = 3 }
  request_timeout = "2m"
  logprobs        = false
  timeout         = "20m"
  seed            = 7
  requests        = 100

  repeat {
    min = 4
    max = 8
  }
}

measure "power" {
  source  = "url"
  url     = "http://127.0.0.1:9400/metrics"
  series  = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"
  kind    = "counter"
  unit    = "J"
  factor  = 0.001
  better  = "lower"
  compare = "ratio"
}

measure "hits" {
  series         = "vllm:prefix_cache_hits_total"
  kind           = "counter"
  labels_match   = { model_name = "Qwen.*" }
  over           = "vllm:prefix_cache_queries_total"
  absent_is_zero = true
  unit           = "fraction"
  better         = "higher"
}

baseline "stored" "nights" {
  branch   = "release"
  sessions = 20
  match    = ["machine.cpu"]
}

baseline "file" "published" {
  path   = "published.json"
  differ = ["tokenizer"]
}

benchmark "quality" {
  matrix {
    side = ["base", "head"]
  }

  target = server.vllm.sut[matrix.side]

  driver "evaluation" {
    command   = ["lm_eval", "--log_samples", "--output_path", driver.dir]
    score     = "exact_match"
    filter    = "strict-match"
    family    = "passage"
    questions = 200
  }

  repeat {
    max = 2
  }
}

benchmark "others" {
  matrix {
    side = ["base", "head"]
  }

  target = server.vllm.sut[matrix.side]

  driver "exec" {
    command = ["guidellm", "benchmark", "--target", driver.base_url]
    tool    = "guidellm"
  }

  repeat {
    max = 4
  }
}

benchmark "capacity" {
  matrix {
    side = ["base", "head"]
  }

  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.prompts

  load {
    requests = 1000

    search {
      min    = 1
      max    = 32
      probes = 6

      slo {
        metric = metric.ttft.p99
        limit  = "500ms"
      }
    }
  }

  repeat {
    max = 4
  }
}

baseline "paired" "before" {
  axis   = "side"
  value  = "base"
  differ = ["tokenizer"]
}
