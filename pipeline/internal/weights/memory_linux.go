package weights

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// probed is how far apart the bytes are by which a part is found to be in memory. The kernel reads ahead
// and evicts in larger pieces.
const probed = 64 << 10

// inMemory reports whether a part of a file is in the page cache: a byte here and there is read on condition
// that nothing has to be waited for. It asks for no right over the file but to read it, where mincore does.
// A file system that knows no such condition has nothing in memory.
func inMemory(file *os.File, at, length int64) bool {
	var b [1]byte
	for end := at + length; at < end; at += probed {
		n, err := unix.Preadv2(int(file.Fd()), [][]byte{b[:]}, at, unix.RWF_NOWAIT)
		if err != nil {
			return false
		}
		if n == 0 { // behind the end
			break
		}
	}
	return true
}

// available is how much memory can be had without swapping, page cache that is let go included: on the
// machine, and in the control groups that this program is in.
func available() (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	free := int64(-1)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("/proc/meminfo: %w", err)
			}
			free = kib << 10
		}
	}
	if free < 0 {
		return 0, errors.New("/proc/meminfo does not say how much memory is available")
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return free, nil //nolint:nilerr // a system without control groups has no limit of theirs
	}
	for line := range strings.Lines(string(own)) {
		if group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			free = min(free, groupsFree("/sys/fs/cgroup", group))
		}
	}
	return free, nil
}

// groupsFree is what a control group and those above it leave of their limits.
func groupsFree(root, group string) int64 {
	free := int64(math.MaxInt64)
	for ; ; group = filepath.Dir(group) {
		dir := filepath.Join(root, group)
		limit, okLimit := number(filepath.Join(dir, "memory.max"))
		used, okUsed := number(filepath.Join(dir, "memory.current"))
		if okLimit && okUsed {
			free = min(free, max(0, limit-used+fileCache(dir)))
		}
		if group == "/" || group == "." {
			return free
		}
	}
}

// number is that of a file, not ok where it has none: "max".
func number(path string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return n, err == nil
}

// fileCache is what a control group has of the page cache.
func fileCache(dir string) int64 {
	text, err := os.ReadFile(filepath.Join(dir, "memory.stat"))
	if err != nil {
		return 0
	}
	sum := int64(0)
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && (name == "active_file" || name == "inactive_file") {
			sum += n
		}
	}
	return sum
}
