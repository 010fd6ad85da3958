# --var image=vllm/vllm-openai:latest
# --var repeats=many
# --var imge=x
variable "image" {
  type = string

  validation {
    condition     = !endswith(var.image, ":latest")
    error_message = "Pin the image: a moving tag makes the baseline meaningless."
  }
}

variable "repeats" {
  type    = number
  default = 5
}

variable "rates" {
  type    = list(number)
  default = ["a"]
}
