package weights

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

const (
	chunk = 4 << 20 // read at once
	// readers at a time: a device or file system over the network is fastest with several.
	readers = 4
	// share of the memory that is available which weights may take: servers need some of it too.
	share = 0.8
)

// Ahead reads what of some files is not in memory. Where they do not fit in what is available of it, nothing
// is read: what was read first would be gone again. Seconds are left to the caller.
func Ahead(ctx context.Context, files []string) (result.ReadAhead, error) {
	return memory{available, inMemory}.ahead(ctx, files)
}

// memory is that of this machine: how much of it can be had, and whether a part of a file is in it.
type memory struct {
	available func() (int64, error)
	has       func(file *os.File, at, length int64) bool
}

func (m memory) ahead(ctx context.Context, files []string) (result.ReadAhead, error) {
	var out result.ReadAhead
	var parts []part
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			return out, err
		}
		out.Bytes += int(info.Size())
		for at := int64(0); at < info.Size(); at += chunk {
			parts = append(parts, part{name, at})
		}
	}
	free, err := m.available()
	if err != nil {
		return out, err
	}
	if float64(out.Bytes) > share*float64(free) {
		out.Skipped = fmt.Sprintf("%s of weights do not fit in the %s of memory that are available", bytesText(float64(out.Bytes)), bytesText(float64(free)))
		return out, nil
	}
	out.Read, err = m.readAll(ctx, parts)
	return out, err
}

func bytesText(n float64) string { return humanize.ScaleFor("B", n).Value(n) }

// part of a file, a chunk long.
type part struct {
	name string
	at   int64
}

// readAll reads the parts that are not in memory, some at a time, and returns how many bytes they had. It
// looks at all parts before it reads one, since reading some makes the kernel read others.
func (m memory) readAll(ctx context.Context, parts []part) (int, error) {
	missing := make([]bool, len(parts))
	err := each(ctx, len(parts), func(r *reader, i int) error {
		if err := r.open(parts[i].name); err != nil {
			return err
		}
		missing[i] = !m.has(r.file, parts[i].at, chunk)
		return nil
	})
	if err != nil {
		return 0, err
	}
	var left []part
	for i, p := range parts {
		if missing[i] {
			left = append(left, p)
		}
	}
	var read atomic.Int64
	err = each(ctx, len(left), func(r *reader, i int) error {
		n, err := r.read(left[i])
		read.Add(int64(n))
		return err
	})
	return int(read.Load()), err
}

// each does something with the numbers below n, some at a time, until it fails.
func each(ctx context.Context, n int, do func(r *reader, i int) error) error {
	var next atomic.Int64
	var all sync.WaitGroup
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	for range readers {
		all.Go(func() {
			r := reader{buffer: make([]byte, chunk)}
			defer r.close()
			for ctx.Err() == nil {
				i := int(next.Add(1) - 1)
				if i >= n {
					return
				}
				if err := do(&r, i); err != nil {
					end(err)
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// reader reads parts, of one file after the other.
type reader struct {
	file   *os.File
	buffer []byte
}

func (r *reader) read(p part) (int, error) {
	if err := r.open(p.name); err != nil {
		return 0, err
	}
	n, err := r.file.ReadAt(r.buffer, p.at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (r *reader) open(name string) (err error) {
	if r.file != nil && r.file.Name() == name {
		return nil
	}
	r.close()
	r.file, err = os.Open(name)
	return err
}

func (r *reader) close() {
	if r.file != nil {
		_ = r.file.Close() // it was only read
	}
	r.file = nil
}
