# Arguments of a program that measures an engine in its own process, and of its driver.
server "offline" "engine" {
  for_each   = { base = "/opt/vllm-main/bin/vllm", head = "/opt/vllm-pr/bin/vllm" }
  executable = each.value
  model      = "Qwen/Qwen2.5-7B-Instruct"
}

benchmark "throughput" {
  matrix { side = ["base", "head"] }
  target = server.offline.engine[matrix.side]

  driver "offline" {
    tool    = "vllm-offline"
    command = ["bench", "throughput", "--dataset-name", "random", "--num-prompts", "200", "--output-json", driver.output]
    output  = "throughput.json"
  }
}
