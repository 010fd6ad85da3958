# Arguments of a server that other tools start, and of a webhook.
server "stack" "sut" {
  for_each = { base = "v1", head = "v2" }
  up       = ["./stack.sh", "up", each.value]
  down     = ["./stack.sh", "down"]
  render   = ["./stack.sh", "render", each.value]
  logs     = ["./stack.sh", "logs"]
  lost     = ["./stack.sh", "lost"]
  model    = "Qwen/Qwen2.5-7B-Instruct"
}

report "webhook" "chat" {
  url_env   = "PIPELINE_WEBHOOK_URL"
  token_env = "PIPELINE_WEBHOOK_TOKEN"
  when      = "fails"
}
