# Faster, and as right as before: a gate of speed beside one of an evaluation.
#
#   pipeline plan evaluation.pipeline.hcl
#   pipeline run evaluation.pipeline.hcl --simulate=virtual

pipeline {
  description = "Prefix caching on, with the answers checked"
}

variable "questions" {
  type        = number
  description = "Sums that each launch is asked."
  default     = 1000
}

variable "accuracy" {
  type        = number
  description = "Share of the sums that the head answers in virtual time, where nothing is asked; the base answers 80 %."
  default     = 0.8
}

server "vllm" "sut" {
  for_each   = { base = false, head = true }
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"

  args = {
    max_model_len         = 4096
    enable_prefix_caching = each.value
  }

  simulate {
    profile = "fast"
  }
}

dataset "random" "shared" {
  input_len  = 1024
  output_len = 16
  prefix_len = 768
}

benchmark "serving" {
  matrix {
    side = ["base", "head"]
  }

  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.shared

  load {
    rate     = 8
    requests = 100
  }

  repeat {
    max = 6
  }
}

# Asked once in each launch, after the load.
benchmark "sums" {
  matrix {
    side = ["base", "head"]
  }

  target = server.vllm.sut[matrix.side]

  driver "evaluation" {
    command   = ["python3", "evaluate.py", driver.base_url, driver.model, driver.output, tostring(var.questions)]
    questions = var.questions
    accuracy  = matrix.side == "head" ? var.accuracy : 0.8
  }

  repeat {
    max = 6
  }
}

baseline "paired" "off" {
  axis  = "side"
  value = "base"
}

gate "faster" {
  description = "Time to first token falls"
  benchmark   = benchmark.serving
  baseline    = baseline.paired.off
  metrics     = [metric.ttft.p50]
  margin      = "5%"
  expect      = "improvement"
}

gate "as_right" {
  description = "No more than 2 of 100 sums are lost"
  benchmark   = benchmark.sums
  baseline    = baseline.paired.off
  metrics     = [metric.evaluation.score]
  margin      = "2pp"
}
