variable "rates" {
  type = list(number)
}
