server "vllm" "sut" {
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmark "serving" {
  matrix {
    a = [1, 1]
    b = []
    c = toset([1, 2])
    d = { x = 1 }
    e = 5
    f = [[1], null]
    g = [matrix.a]
  }

  target  = server.vllm.sut
  dataset = dataset.random.short

  load {
    rate     = 4
    requests = 10
  }
}

benchmark "none" {
  matrix {
    rate = [1, 2]

    exclude {
      when = matrix.rate < 5
    }

    exclude {
    }
  }

  target  = server.vllm.sut
  dataset = dataset.random.short

  load {
    rate     = matrix.rate
    requests = 10
  }
}
