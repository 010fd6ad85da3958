//go:build !linux

package stamp

import "time"

// Now is the time of a clock that all processes of this machine share.
func Now() int64 { return time.Now().UnixNano() }
