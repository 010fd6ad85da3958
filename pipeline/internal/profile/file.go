package profile

import (
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
)

// kind is a kind of profiler file.
type kind struct {
	suffix string
	// read adds its content to a summary; nil if a table beside it has the same content.
	read func(*Summary, io.Reader) error
	// opaque files cannot be masked.
	opaque bool
}

// kinds lists the kinds that are read or kept.
var kinds = []kind{
	{".json", (*Summary).ReadTrace, false},
	{".json.gz", (*Summary).ReadTrace, false},
	{"_cuda_gpu_kern_sum.csv", (*Summary).ReadKernels, false},
	{"_cuda_gpu_mem_time_sum.csv", (*Summary).ReadCopies, false},
	{".nsys-rep", nil, true},
}

func kindOf(path string) (kind, bool) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return strings.HasSuffix(path, k.suffix) })
	if i < 0 {
		return kind{}, false
	}
	return kinds[i], true
}

// Files returns the profiler files in a folder, by name.
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

// ReadFile adds the content of a file. It returns an error for an incomplete file, but adds what could be read.
func (s *Summary) ReadFile(path string) error {
	k, _ := kindOf(path)
	if k.read == nil {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	return k.read(s, f)
}

// Opaque reports whether the secrets in a file cannot be masked: the report of Nsight Systems contains the
// server's environment in a binary format.
func Opaque(path string) bool {
	k, known := kindOf(path)
	return !known || k.opaque
}

// Redact returns a stream to w that masks the secrets in a file of this name.
type Redact func(name string, w io.Writer) io.WriteCloser

// Mask masks the secrets in a trace or table, compressed or not. Of an incomplete compressed file it keeps the
// readable part.
func Mask(path string, redact Redact) (err error) {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // opened for reading only
	out, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o600))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Cleanup()) }()
	plain, packed := strings.CutSuffix(path, ".gz")
	if !packed {
		err = mask(plain, in, out, redact)
	} else {
		err = maskPacked(plain, in, out, redact)
	}
	if err != nil {
		return err
	}
	return out.CloseAtomicallyReplace()
}

func maskPacked(name string, in io.Reader, out io.Writer, redact Redact) error {
	unpacked, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	packed := gzip.NewWriter(out)
	return errors.Join(mask(name, unpacked, packed, redact), packed.Close())
}

func mask(name string, in io.Reader, out io.Writer, redact Redact) error {
	masked := redact(name, out)
	_, err := io.Copy(masked, in)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return errors.Join(err, masked.Close())
}
