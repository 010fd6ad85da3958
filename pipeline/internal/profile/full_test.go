package profile

import "flag"

var full = flag.Bool("full", false, "read a trace of a gigabyte")
