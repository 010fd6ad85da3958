package profile

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// kind is a kind of file that profilers leave.
type kind struct {
	suffix string
	// read adds what it has to a summary; nil where a table beside it has the same.
	read func(*Summary, io.Reader) error
}

// kinds are all that is read or kept.
var kinds = []kind{
	{".json", func(s *Summary, r io.Reader) error { return s.ReadTrace(r, Bounds{}) }},
	{".json.gz", func(s *Summary, r io.Reader) error { return s.ReadTrace(r, Bounds{}) }},
	{"_cuda_gpu_kern_sum.csv", (*Summary).ReadKernels},
	{"_cuda_gpu_mem_time_sum.csv", (*Summary).ReadCopies},
	{".nsys-rep", nil},
}

func kindOf(path string) (kind, bool) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return strings.HasSuffix(path, k.suffix) })
	if i < 0 {
		return kind{}, false
	}
	return kinds[i], true
}

// Files are those of a folder that a profiler left, by their names.
func Files(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if _, known := kindOf(path); err == nil && known && e.Type().IsRegular() {
			out = append(out, path)
		}
		return err
	})
	return out, err
}

// ReadFile adds what is in a file. An error means that it is not whole; what could be read counts.
func (s *Summary) ReadFile(path string) error {
	k, _ := kindOf(path)
	if k.read == nil {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading
	return k.read(s, f)
}
