package engine_test

import "flag"

var full = flag.Bool("full", false, "resume from every line of a journal, not from some")
