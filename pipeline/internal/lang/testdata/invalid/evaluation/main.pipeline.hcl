server "vllm" "sut" {
  for_each   = { base = false, head = true }
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
  args       = { enable_chunked_prefill = each.value }
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmark "serving" {
  matrix {
    side = ["base", "head"]
  }

  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short

  load {
    rate     = 4
    requests = 1000
  }
}

benchmark "questions" {
  matrix {
    side = ["base", "head"]
  }

  target = server.vllm.sut[matrix.side]

  driver "evaluation" {
    command   = ["python3", "evaluate.py", driver.base_url, driver.output]
    questions = 1000
  }
}

benchmark "no_number" {
  matrix {
    side = ["base", "head"]
  }

  target = server.vllm.sut[matrix.side]

  driver "evaluation" {
    command = ["python3", "evaluate.py", driver.base_url, driver.output]
  }
}

benchmark "wrong" {
  matrix {
    side = ["base", "head"]
  }

  target = server.vllm.sut[matrix.side]

  driver "evaluation" {
    command   = []
    questions = 12.5
    accuracy  = "120%"
    output    = "../scores.jsonl"
    tool      = "vllm"
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "speed_of_questions" {
  benchmark = benchmark.questions
  baseline  = baseline.paired.base
  metrics   = [metric.evaluation.score, metric.ttft.p50]
  margin    = "2pp"
}

gate "score_of_a_load" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.evaluation.score]
  margin    = "2pp"
}

gate "ranks" {
  benchmark = benchmark.questions
  baseline  = baseline.paired.base
  metrics   = [metric.evaluation.score]
  margin    = "2pp"
  test      = "mann_whitney"
}
