// Package request is the step that sends one HTTP request:
//
//	step "http" "reserve" {
//	  method        = "POST"
//	  url           = "https://lab.example/reserve"
//	  headers       = { Authorization = "Bearer ${var.lab_token}" }
//	  body          = { gpu = "h100", minutes = 90 }
//	  expect_status = [200, 201]
//	  outputs       = { id = "/data/0/id" } # JSON pointers, then step.http.reserve.outputs.id
//	}
//
// It uses no proxy from the environment and follows redirects on the same host only. It
// does not stream and does not keep cookies.
package request
