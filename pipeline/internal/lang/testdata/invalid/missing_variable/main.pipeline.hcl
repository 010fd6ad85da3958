variable "image" {
  type        = string
  description = "Image under test."
}

server "vllm" "sut" {
  image = var.image
  model = "m"
}
