# The same load by five load generators, on the same launch of one server: ours, vLLM's, SGLang's, guidellm's and aiperf's. Launching,
# repeats and the order are the pipeline's; each client measures, and what it writes becomes the result.
#
#   ../vllm-cpu/setup.sh && ./setup.sh     # once: vLLM for CPU with a tiny model, and the clients
#   pipeline run drivers.pipeline.hcl
#
# On your own server, keep the benchmark of the client that you use, add a side and a gate (README.md has them).

variable "venv" {
  type        = string
  description = "Folder that both setup.sh filled."
  default     = "../vllm-cpu/.venv-vllm"
}

variable "repeats" {
  type        = number
  description = "Launches of the server."
  default     = 2
}

variable "busy" {
  type        = bool
  description = "The machine has other work: our own client is not held to its schedule."
  default     = false
}

locals {
  model  = "${var.venv}/model" # for the tokenizers of the clients
  rate   = 5
  number = 50
  input  = 64
  output = 16
}

server "vllm" "sut" {
  executable  = "${var.venv}/bin/vllm"
  model       = local.model
  served_name = "tiny"
  version     = "0.32.0"

  args = {
    dtype         = "bfloat16"
    max_model_len = 2048
    enforce_eager = true
  }

  env = {
    HF_HUB_OFFLINE         = "1"
    VLLM_SERVER_DEV_MODE   = "1" # lets the cache be reset between runs
    VLLM_CPU_KVCACHE_SPACE = "1" # GiB
    VLLM_NO_USAGE_STATS    = "1"

    # Clients use a connection again after up to 15 s, and vLLM closes it after 5: a request that is just sent then fails.
    VLLM_HTTP_TIMEOUT_KEEP_ALIVE = "60"
  }

  ready {
    timeout  = "10m"
    interval = "1s"
  }
}

dataset "random" "short" {
  input_len  = local.input
  output_len = local.output
}

benchmark "ours" {
  description = "The pipeline's own client"
  target      = server.vllm.sut
  dataset     = dataset.random.short

  load {
    arrival  = "poisson"
    rate     = local.rate
    requests = local.number
  }

  # Client and server share the cores of one small machine here.
  limits {
    lag_p99    = var.busy ? "10s" : "100ms"
    rate_share = var.busy ? "50%" : "98%"
  }

  repeat {
    max = var.repeats
  }
}

benchmark "vllm" {
  description = "vllm bench serve"
  target      = server.vllm.sut
  timeout     = "10m"

  driver "exec" {
    command = [
      "${var.venv}/bin/vllm", "bench", "serve", "--backend", "openai", "--base-url", driver.base_url,
      "--model", driver.model, "--tokenizer", local.model, "--seed", driver.seed, "--dataset-name", "random",
      "--random-input-len", local.input, "--random-output-len", local.output, "--ignore-eos",
      "--num-prompts", local.number, "--request-rate", local.rate, "--percentile-metrics", "ttft,tpot,itl,e2el",
      "--save-result", "--save-detailed", "--result-filename", driver.output,
    ]
    env = { HF_HUB_OFFLINE = "1" }
  }

  repeat {
    max = var.repeats
  }
}

benchmark "sglang" {
  description = "sglang.bench_serving"
  target      = server.vllm.sut
  timeout     = "10m"

  driver "exec" {
    command = [
      "${var.venv}/clients/bin/python", "-m", "sglang.benchmark.serving", "--backend", "vllm", "--base-url", driver.base_url,
      "--model", driver.model, "--tokenizer", local.model, "--seed", driver.seed, "--dataset-name", "random-ids",
      "--random-input-len", local.input, "--random-output-len", local.output, "--random-range-ratio", "1.0",
      "--num-prompts", local.number, "--request-rate", local.rate, "--output-file", driver.output, "--output-details",
    ]
    env = { HF_HUB_OFFLINE = "1" }
  }

  repeat {
    max = var.repeats
  }
}

benchmark "guidellm" {
  description = "guidellm run"
  target      = server.vllm.sut
  timeout     = "10m"

  driver "exec" {
    command = [
      "${var.venv}/clients/bin/guidellm", "run", "--backend", "kind=openai_http,target=${driver.base_url},model=${driver.model}",
      "--tokenizer", "kind=huggingface_auto,model=${local.model}", "--seed", "kind=static,value=${driver.seed}",
      "--profile", "kind=constant,rate=${local.rate}", "--constraint", "kind=max_requests,count=${local.number}",
      "--data", "kind=synthetic_text,prompt_tokens=${local.input},output_tokens=${local.output}",
      "--output", "kind=json,path=${driver.output}", "--disable-progress",
    ]
    env = { HF_HUB_OFFLINE = "1" }
  }

  repeat {
    max = var.repeats
  }
}

benchmark "aiperf" {
  description = "aiperf profile"
  target      = server.vllm.sut
  timeout     = "10m"

  driver "exec" {
    command = [
      "${var.venv}/aiperf/bin/aiperf", "profile", "-m", driver.model, "-u", driver.base_url, "--endpoint-type", "completions",
      "--streaming", "--tokenizer", local.model, "--isl", local.input, "--osl", local.output, "--extra-inputs", "ignore_eos:true",
      "--request-rate", local.rate, "--request-rate-mode", "poisson", "--request-count", local.number,
      "--random-seed", driver.seed, "--use-server-token-count", "--ui", "none", "--artifact-dir", driver.dir,
    ]
    output = "profile_export_aiperf.json" # below driver.dir
  }

  repeat {
    max = var.repeats
  }
}

report "file" "all" {
  formats = ["markdown", "text", "json"]
}
