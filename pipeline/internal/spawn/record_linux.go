package spawn

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// record is a folder that lists the processes of a Spawner, to find them after this program was killed. It is
// needed because a process can overwrite its environment, and with it the mark. Each started group has a file
// while it runs; so does each of its descendants in another group. The file "seen" is updated while the program
// lives.
//
// A nil record stores nothing.
type record struct {
	dir string

	mu      sync.Mutex
	entries map[entry]bool
	// scan is the time of the next search for descendants, and wait the time until the following one. Process
	// trees grow after a start.
	scan time.Time
	wait time.Duration
}

// entry identifies a process, or a group by its leader.
type entry struct {
	group bool
	pid   int
	start uint64
}

// Timing of a record.
const (
	// beatEvery is the interval between updates of "seen".
	beatEvery = time.Second
	// firstScan and lastScan bound the time between searches, which doubles.
	firstScan, lastScan = time.Second, time.Minute
	// seenSlack is how late an update may be. A process number is not reused that fast.
	seenSlack = 2 * time.Second
)

const (
	seenFile    = "seen"
	groupWord   = "group"
	processWord = "process"
	// placeSeparator replaces the slash of [Owner] in the name of a folder.
	placeSeparator = ","
)

// recordBases returns the possible folders of records, best first. They do not depend on the environment, which
// may differ in a later program.
func recordBases() []string {
	name := "pipeline-processes-" + strconv.Itoa(os.Getuid())
	return []string{filepath.Join("/run/lock", name), filepath.Join("/tmp", name)}
}

// openRecord creates an empty record; nil if impossible.
func openRecord() *record {
	owner := Owner()
	if owner == "" {
		return nil
	}
	for _, base := range recordBases() {
		if err := os.Mkdir(base, 0o700); err != nil && !errors.Is(err, fs.ErrExist) || !private(base) {
			continue
		}
		dir, err := os.MkdirTemp(base, strings.ReplaceAll(owner, "/", placeSeparator)+placeSeparator+"*")
		if err == nil {
			return &record{dir: dir, entries: map[entry]bool{}}
		}
	}
	return nil
}

// private reports whether a path is a folder that only this user can write to. This is required, because
// recorded processes may be killed.
func private(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o022 != 0 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

// started adds a group, and schedules a search for its descendants.
func (r *record) started(pid int, start uint64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(entry{true, pid, start})
	r.see()
	r.wait = firstScan
	r.scan = time.Now().Add(r.wait)
}

// ended removes a group, before its number can be reused.
func (r *record) ended(pid int, start uint64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(entry{true, pid, start})
}

// beat records that the program lives, and the descendants of its groups.
func (r *record) beat() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.entries) == 0 {
		return
	}
	r.see()
	if now := time.Now(); now.After(r.scan) {
		r.search()
		r.wait = min(2*r.wait, lastScan)
		r.scan = now.Add(r.wait)
	}
}

// search records the processes that have left the started groups.
func (r *record) search() {
	all := listProcesses()
	known := map[int]string{}
	groups := map[int]bool{}
	for e := range r.entries {
		list := all.named(e, bootTicks())
		if !e.group && len(list) == 0 {
			r.remove(e)
		}
		groups[e.pid] = groups[e.pid] || e.group
		for _, p := range list {
			known[p.pid] = ""
		}
	}
	for pid := range all.family(known) {
		if p := all[pid]; !groups[p.group] {
			r.add(entry{false, pid, p.start})
		}
	}
}

// close removes the record unless one of its processes still runs.
func (r *record) close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.entries) > 0 {
		r.search()
	}
	if len(r.entries) == 0 {
		_ = os.RemoveAll(r.dir) // the next cleanup removes what remains
	}
}

// add writes an entry. If that fails, only the mark can identify the process.
func (r *record) add(e entry) {
	if r.entries[e] {
		return
	}
	r.entries[e] = true
	if f, err := os.OpenFile(filepath.Join(r.dir, e.file()), os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_ = f.Close()
	}
}

func (r *record) remove(e entry) {
	delete(r.entries, e)
	_ = os.Remove(filepath.Join(r.dir, e.file()))
}

// see writes the current time.
func (r *record) see() {
	f, err := os.OpenFile(filepath.Join(r.dir, seenFile), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = fmt.Fprintf(f, "%020d", bootTicks()) // overwrites in place, because the length is constant
	_ = f.Close()
}

// bootTicks returns the clock ticks since boot, the unit of start times in /proc.
func bootTicks() uint64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return uint64(now.Nano()) / uint64(time.Second/ticksPerSecond)
}

// ticksPerSecond is USER_HZ, a constant of Linux's interface.
const ticksPerSecond = 100

func (e entry) file() string {
	word := processWord
	if e.group {
		word = groupWord
	}
	return word + "-" + strconv.Itoa(e.pid) + "-" + strconv.FormatUint(e.start, 10)
}

// parseEntry is the inverse of file.
func parseEntry(name string) (entry, bool) {
	word, rest, _ := strings.Cut(name, "-")
	left, right, _ := strings.Cut(rest, "-")
	pid, err1 := strconv.Atoi(left)
	start, err2 := strconv.ParseUint(right, 10, 64)
	e := entry{word == groupWord, pid, start}
	return e, err1 == nil && err2 == nil && pid > 1 && e.file() == name
}

// kept is a record read from disk.
type kept struct {
	dir, owner string
	seen       uint64 // the latest tick at which its owner may have been alive
	entries    []entry
}

// readRecords returns the records of this user's programs in this PID namespace since boot.
func readRecords() []kept {
	place := ownerPlace()
	var out []kept
	for _, base := range recordBases() {
		if !private(base) {
			continue
		}
		dirs, err := os.ReadDir(base)
		if err != nil {
			continue
		}
		for _, d := range dirs {
			name := strings.Split(d.Name(), placeSeparator)
			if len(name) != 4 {
				continue
			}
			k := kept{dir: filepath.Join(base, d.Name()), owner: strings.Join(name[:3], "/")}
			if strings.HasPrefix(k.owner, place+"/") {
				k.read()
				out = append(out, k)
			}
		}
	}
	return out
}

func (k *kept) read() {
	if text, err := os.ReadFile(filepath.Join(k.dir, seenFile)); err == nil {
		k.seen, _ = strconv.ParseUint(string(text), 10, 64)
		k.seen += uint64(seenSlack / (time.Second / ticksPerSecond))
	}
	files, _ := os.ReadDir(k.dir)
	for _, f := range files {
		if e, ok := parseEntry(f.Name()); ok {
			k.entries = append(k.entries, e)
		}
	}
}

// pruneRecords removes the records of ended programs without running processes.
func pruneRecords() {
	all := listProcesses()
	for _, k := range readRecords() {
		runs := !Gone(k.owner)
		for _, e := range k.entries {
			runs = runs || len(all.named(e, k.seen)) > 0
		}
		if !runs {
			_ = os.RemoveAll(k.dir) // the next call retries
		}
	}
}
