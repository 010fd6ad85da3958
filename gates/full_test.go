package gates

import "flag"

// Full runs the simulations of operating characteristics with 2,000 files each (with
// -update they are written into docs/evidence/error-rates.md), and derives the whole table of looks:
//
//	go test ./gates -run OperatingCharacteristics -v -full
var Full = flag.Bool("full", false, "simulate 2,000 files for each operating characteristic")
