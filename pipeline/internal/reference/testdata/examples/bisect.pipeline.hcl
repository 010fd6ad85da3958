# Arguments of a bisect over listed candidates.
pipeline {
  bisect {
    good       = "base"
    candidate  = "head"
    candidates = ["nightly-01", "nightly-02"]
  }
}

variable "base" {
  type    = string
  default = "nightly-01"
}

variable "head" {
  type    = string
  default = "nightly-02"
}
