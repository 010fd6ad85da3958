package cli

import (
	"runtime"
	"runtime/debug"
)

// firstCollection is the memory, in bytes, that this process takes before it first collects garbage.
const firstCollection = 48 << 20

// deferCollection lets a short command end without a collection of garbage, which would take a fifth of its time: Go's
// first ones come at 4 MiB. After the first collection the runtime's own pace holds, as if nothing had been set.
// A load run collects before its first request. GOGC and GOMEMLIMIT of the environment have priority.
func deferCollection(getenv func(string) string) {
	if getenv("GOGC") != "" || getenv("GOMEMLIMIT") != "" {
		return
	}
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(firstCollection)
	collected := new([16]byte) // an object that the first collection frees
	runtime.AddCleanup(collected, func(percent int) {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}, percent)
}
