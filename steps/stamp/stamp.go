// Package stamp writes down when something happened in the model of a simulated server, so
// that another process on the same machine goes on from there and not from the moment at
// which it heard of it:
//
//	header.Set(stamp.Header, stamp.Format(stamp.Now()))
//	at, ok := stamp.Parse(header.Get(stamp.Header))
//
// The way between two processes, which no model knows and which a time scale multiplies,
// then counts only where it is longer than what the model has to do meanwhile. A stamp
// means nothing on another machine, whose clock is another.
package stamp

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Header carries a stamp with a request, or with the answer of a server that is not the
// last one to work on the request. Real engines neither send nor read it.
const Header = "X-Simulated-At"

// Format writes an instant, in nanoseconds of [Now], for other processes of this machine.
func Format(ns int64) string { return strconv.FormatInt(ns, 10) + "@" + machine() }

// Parse reads a stamp. It is false for text that is none, and for one of another machine.
func Parse(text string) (ns int64, ok bool) {
	number, host, found := strings.Cut(text, "@")
	ns, err := strconv.ParseInt(number, 10, 64)
	if !found || err != nil || ns <= 0 || host != machine() {
		return 0, false
	}
	return ns, true
}

// machine names this machine since it was started: containers on it have the same name.
var machine = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		name, _ := os.Hostname() // "" is a name as well where there is nothing better
		return name
	}
	return string(bytes.TrimSpace(id))
})
