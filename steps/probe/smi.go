package probe

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps"
)

// smiTimeout is long, since without persistence mode the driver loads first.
const smiTimeout = 20 * time.Second

// run returns the output of a program that ended well within the timeout.
func run(ctx context.Context, sp steps.Spawner, argv ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, smiTimeout)
	defer cancel()
	out, _, err := steps.Output(ctx, sp, steps.Command{Argv: argv})
	return []byte(out), err
}

// told returns a value of nvidia-smi, "" for what it does not know: it writes [N/A],
// [Not Supported], [Unknown Error] and the like in brackets, and in places N/A without.
func told(value string) string {
	value = line(value)
	if strings.HasPrefix(value, "[") || value == "N/A" {
		return ""
	}
	return value
}

func line(text string) string { return steps.Line(text, maxFact) }

// number reads a figure that is not negative, Unknown for anything else.
func number(text string) float64 {
	v, err := strconv.ParseFloat(told(text), 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > 1e18 {
		return Unknown
	}
	return v
}

func whole(text string) int64 { return int64(number(text)) }

// mebibytes reads a figure in MiB as bytes.
func mebibytes(text string) int64 {
	v := whole(text)
	if v == Unknown || v > math.MaxInt64>>20 {
		return Unknown
	}
	return v << 20
}
