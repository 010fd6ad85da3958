package weights

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cached reports whether the page cache holds each page of a file, as mincore says, which this program's own
// files may be asked for.
func cached(t *testing.T, f *os.File, size int) []bool {
	t.Helper()
	mapped, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Munmap(mapped); err != nil {
			t.Error(err)
		}
	}()
	pages := make([]byte, (size+os.Getpagesize()-1)/os.Getpagesize())
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mapped[0])), uintptr(size), uintptr(unsafe.Pointer(&pages[0]))); errno != 0 {
		t.Fatal(errno)
	}
	in := make([]bool, len(pages))
	for i, page := range pages {
		in[i] = page&1 != 0
	}
	return in
}

// inMemory agrees with mincore. What the kernel keeps of a file is its affair, so that it is asked each time.
func TestInMemory(t *testing.T) {
	const size = 2*chunk + 12345
	f, err := os.Open(weightsOf(t, "m.safetensors", size))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := unix.Preadv2(int(f.Fd()), [][]byte{make([]byte, 1)}, 0, unix.RWF_NOWAIT); errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip("this file system does not say what is in memory")
	}
	if !slices.Contains(cached(t, f, size), false) && !inMemory(f, 0, size) {
		t.Error("all of a file is in memory, and it is not seen")
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(cached(t, f, size), true) && inMemory(f, 0, size) {
		t.Error("nothing of a file is in memory, and all of it is said to be")
	}
	if n, err := io.Copy(io.Discard, f); err != nil || n != size {
		t.Fatal(n, err)
	}
	if !slices.Contains(cached(t, f, size), false) && !inMemory(f, 0, size) {
		t.Error("all of a file was read, and it is not seen")
	}
}

// What was read ahead is in memory, and not read again.
func TestAheadReadsOnce(t *testing.T) {
	const size = 2*chunk + 12345
	path := weightsOf(t, "m.safetensors", size)
	if got, err := plenty.ahead(t.Context(), []string{path}); err != nil || got.Read != size {
		t.Fatalf("%+v, %v", got, err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !inMemory(f, 0, size) {
		t.Skip("this machine has not kept it, or its file system does not say so")
	}
	if got, err := Ahead(t.Context(), []string{path}); err != nil || got.Bytes != size || got.Read != 0 {
		t.Errorf("read again: %+v, %v", got, err)
	}
}

func TestAvailable(t *testing.T) {
	if free, err := available(); err != nil || free <= 0 || free > 1<<50 {
		t.Errorf("available: %d, %v", free, err)
	}
}

// A limit of a group, or of one above it, bounds what is available; page cache is let go for it.
func TestGroupsFree(t *testing.T) {
	root := t.TempDir()
	write := func(group, file, text string) {
		dir := filepath.Join(root, group)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := groupsFree(root, "/a/b"); got != math.MaxInt64 {
		t.Errorf("no groups: %d", got)
	}
	write("a/b", "memory.max", "max\n")
	write("a/b", "memory.current", "50\n")
	if got := groupsFree(root, "/a/b"); got != math.MaxInt64 {
		t.Errorf("no limit: %d", got)
	}
	write("a", "memory.max", "1000\n")
	write("a", "memory.current", "900\n")
	write("a", "memory.stat", "anon 400\nfile 500\ninactive_file 300\nactive_file 150\n")
	if got := groupsFree(root, "/a/b"); got != 550 {
		t.Errorf("a limit above: %d", got)
	}
	write("a/b", "memory.max", "60\n")
	if got := groupsFree(root, "/a/b"); got != 10 {
		t.Errorf("the closer limit: %d", got)
	}
}
