// Command pipeline decides whether a change made an LLM inference server slower.
//
// See README.md for the first steps and `pipeline help` for the commands.
package main

import (
	"os"

	"github.com/servegate/pipeline/pipeline/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.System()))
}
