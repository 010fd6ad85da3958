package cli

import "flag"

var full = flag.Bool("full", false, "judge every mutant of a file, not one in four")
