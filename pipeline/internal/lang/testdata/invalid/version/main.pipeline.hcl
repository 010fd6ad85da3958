pipeline {
  required_version = ">= 9"
}

future "block" {
}
