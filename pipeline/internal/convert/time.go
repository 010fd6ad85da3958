package convert

import (
	"strconv"
	"time"
)

// timeParams hold the time of a measurement, the best first. Most load generators report the end,
// which gives the same order as the start.
var timeParams = []string{
	"start_time", "benchmark_start_time", "start_time_unix", "benchmark_start_time_unix", "date", "datetime", "timestamp", "created_at",
	"end_time", "time",
}

// timeLayouts are the time formats of load generators.
var timeLayouts = []string{"20060102-150405", time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"}

// Measured returns when a result was measured, zero if unknown.
func (r *Run) Measured() time.Time {
	for _, name := range timeParams {
		if r.loose[name] {
			continue // a line of a log
		}
		if at := parseTime(r.Params[name]); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// parseTime parses a time, or a number of seconds, milliseconds or nanoseconds since 1970. It
// returns zero for other text.
func parseTime(text string) time.Time {
	for _, layout := range timeLayouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	const earliest, latest = 1e9, 5e9 // 2001 and 2128
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return time.Time{}
	}
	for _, unit := range []float64{1, 1e3, 1e9} {
		if s := v / unit; s > earliest && s < latest {
			return time.UnixMicro(int64(s * 1e6)).UTC()
		}
	}
	return time.Time{}
}
