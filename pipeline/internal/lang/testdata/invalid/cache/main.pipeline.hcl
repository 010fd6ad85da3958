server "vllm" "container" {
  image = "vllm/vllm-openai:v0.11.0"
  model = "m"
  cache {
    volume = "compile"
  }
  cache {
    folder = "caches"
    volume = "compile"
    path   = "/a"
  }
  cache {
    folder = "caches"
    path   = "relative"
  }
  cache {
    volume = "../escape"
    path   = "/b"
  }
  cache {
    volume = "compile"
    path   = "/c"
  }
  cache {
    volume = "other"
    path   = "/c"
  }
}

server "vllm" "process" {
  executable = "vllm"
  model      = "m"
  cache {
    folder = "caches"
  }
  cache {
    volume = "compile"
    env    = "VLLM_CACHE_ROOT"
  }
  cache {
    folder = "caches"
    env    = "VLLM CACHE"
  }
  cache {
    folder = "caches"
    env    = "VLLM_CACHE_ROOT"
    path   = "/root/.cache/vllm"
  }
}

server "vllm" "elsewhere" {
  url   = "http://127.0.0.1:8000"
  model = "m"
  cache {
    folder = "caches"
    env    = "X"
  }
}
