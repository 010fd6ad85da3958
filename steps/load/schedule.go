package load

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"time"

	"github.com/servegate/pipeline/steps"
)

// streamArrivals separates the arrivals from other uses of one seed.
const streamArrivals = 0x6172726976616c73

// Schedule returns the planned send times of n requests (n = 0 means Count(l)), from
// the start of the run, ascending. It is a pure function of its arguments, drawn from
// math/rand/v2's PCG by algorithms of this package, so that a stored seed gives the
// same schedule in every version. A closed loop has no schedule (nil), and that of a
// trace is in its dataset.
//
// The load must be valid (Check).
func (a Arrivals) Schedule(l steps.Load, n int, seed uint64) []time.Duration {
	m, err := a.Lookup(l.Arrival)
	if err != nil || m.Times == nil {
		return nil
	}
	if n <= 0 {
		n = a.Count(l)
	}
	if n == 0 {
		return []time.Duration{}
	}
	return m.Times(l, n, rand.NewPCG(seed, streamArrivals))
}

// Length returns when the last of a load's Requests is due, from the start of the run. It is 0 if no schedule
// determines it, or all are sent at once.
func (a Arrivals) Length(l steps.Load) time.Duration {
	if s := a.Schedule(l, l.Requests, 0); len(s) > 0 {
		return s[len(s)-1]
	}
	return 0
}

// hashSchedule identifies a schedule.
func hashSchedule(s []time.Duration) string {
	h := sha256.New()
	var word [8]byte
	for _, d := range s {
		binary.LittleEndian.PutUint64(word[:], uint64(d))
		h.Write(word[:])
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)[:16])
}
