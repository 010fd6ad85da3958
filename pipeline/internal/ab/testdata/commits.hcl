# Is v2 slower than 111111111? Written by
#
#   pipeline ab …

step "exec" "build" {
  for_each = toset(["1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"])

  command = ["sh", "-ec", <<-EOT
    dir="$PWD/.pipeline/builds/${each.value}"
    test -x "$dir/build/bin/llama-server" && exit
    rm -rf "$dir"
    git clone --quiet --shared "$(git rev-parse --show-toplevel)" "$dir"
    cd "$dir"
    git checkout --quiet --detach ${each.value}
    cmake -B build
    cmake --build build -j $${JOBS:-2}
    test -x build/bin/llama-server
  EOT
  ]

  timeout = "2h"
}

server "llamacpp" "sut" {
  for_each = {
    "111111111" = "1111111111111111111111111111111111111111"
    v2          = "2222222222222222222222222222222222222222"
  }

  executable = ".pipeline/builds/${each.value}/build/bin/llama-server"
  model      = "tiny.gguf"
  depends_on = [step.exec.build]
}

dataset "random" "prompts" {
  input_len  = 512
  output_len = 64
}

benchmark "serving" {
  matrix {
    side = ["111111111", "v2"]
  }

  target  = server.llamacpp.sut[matrix.side]
  dataset = dataset.random.prompts

  warmup {
    requests = 20
  }

  load {
    arrival         = "closed"
    max_concurrency = 8
    requests        = 200
  }

  repeat {
    min = 4
    max = 12
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "111111111"
}

gate "latency" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50]
  margin    = "5%"
}
