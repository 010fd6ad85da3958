package doctor

import (
	"io/fs"
	"math"

	"github.com/servegate/pipeline/steps/probe"
	"golang.org/x/sys/unix"
)

// free returns the free bytes on a path's file system that we may use.
func free(path string) int64 {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return probe.Unknown
	}
	n := s.Bavail * uint64(s.Bsize)
	if n > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(n)
}

// lockedMemory returns how much memory our processes may lock.
func lockedMemory() int64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &r) != nil {
		return probe.Unknown
	}
	if r.Cur > math.MaxInt64 || r.Cur == uint64(math.MaxInt64) {
		return Unlimited
	}
	return int64(r.Cur)
}

func content(root fs.FS, path string) string {
	data, err := fs.ReadFile(root, path)
	if err != nil {
		return ""
	}
	return string(data)
}
