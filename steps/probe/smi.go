package probe

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps"
)

// smiTimeout is long, because without persistence mode the driver must load first.
const smiTimeout = 20 * time.Second

// run returns the output of a program that succeeded within the timeout.
func run(ctx context.Context, sp steps.Spawner, argv ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, smiTimeout)
	defer cancel()
	out, _, err := steps.Output(ctx, sp, steps.Command{Argv: argv})
	return []byte(out), err
}

// told returns a value of nvidia-smi, "" if unknown. nvidia-smi writes unknown values in brackets, such as
// [N/A], [Not Supported] or [Unknown Error], and sometimes as N/A.
func told(value string) string {
	value = line(value)
	if strings.HasPrefix(value, "[") || value == "N/A" {
		return ""
	}
	return value
}

func line(text string) string { return steps.Line(text, maxFact) }

// number parses a figure of at least 0, Unknown for anything else.
func number(text string) float64 {
	v, err := strconv.ParseFloat(told(text), 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > 1e18 {
		return Unknown
	}
	return v
}

func whole(text string) int64 { return int64(number(text)) }

// mebibytes parses a figure in MiB and returns bytes.
func mebibytes(text string) int64 {
	v := whole(text)
	if v == Unknown || v > math.MaxInt64>>20 {
		return Unknown
	}
	return v << 20
}
