package session_test

import "flag"

var full = flag.Bool("full", false, "simulate as many files as the error rates need that tests hold")
