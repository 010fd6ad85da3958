package lang

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// sameFiles compares files and folders, and caches the results: a model is large.
type sameFiles struct {
	known map[[2]string]bool
}

// equal reports whether two paths hold the same files with the same content, or are both absent. Unreadable
// files differ.
func (s *sameFiles) equal(a, b string) bool {
	key := [2]string{a, b}
	if same, ok := s.known[key]; ok {
		return same
	}
	if s.known == nil {
		s.known = map[[2]string]bool{}
	}
	s.known[key] = a == b || sameTree(a, b)
	return s.known[key]
}

func sameTree(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	switch {
	case absent(errA) && absent(errB):
		return true
	case errA != nil || errB != nil || infoA.IsDir() != infoB.IsDir():
		return false
	case !infoA.IsDir():
		return sameContent(a, b, infoA, infoB)
	}
	inA, errA := os.ReadDir(a)
	inB, errB := os.ReadDir(b)
	if errA != nil || errB != nil || len(inA) != len(inB) {
		return false
	}
	for i, e := range inA { // sorted by name
		if e.Name() != inB[i].Name() || loops(a, e) || loops(b, inB[i]) || !sameTree(filepath.Join(a, e.Name()), filepath.Join(b, e.Name())) {
			return false
		}
	}
	return true
}

// absent reports whether a path does not exist, or its text cannot be a path, such as a chat template given as
// an argument.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG) ||
		errors.Is(err, syscall.EINVAL)
}

// loops reports whether an entry is a link to a folder, which may lead back to its own folder.
func loops(dir string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return false
	}
	info, err := os.Stat(filepath.Join(dir, e.Name()))
	return err != nil || info.IsDir()
}

// sameContent compares two regular files byte by byte.
func sameContent(a, b string, infoA, infoB fs.FileInfo) bool {
	if !infoA.Mode().IsRegular() || !infoB.Mode().IsRegular() || infoA.Size() != infoB.Size() {
		return false
	}
	if os.SameFile(infoA, infoB) {
		return true
	}
	fileA, err := os.Open(a)
	if err != nil {
		return false
	}
	defer func() { _ = fileA.Close() }() // opened for reading
	fileB, err := os.Open(b)
	if err != nil {
		return false
	}
	defer func() { _ = fileB.Close() }() // opened for reading
	const size = 1 << 20
	blockA, blockB := make([]byte, size), make([]byte, size)
	for {
		nA, errA := io.ReadFull(fileA, blockA)
		nB, errB := io.ReadFull(fileB, blockB)
		if !bytes.Equal(blockA[:nA], blockB[:nB]) || (errA == nil) != (errB == nil) {
			return false
		}
		if errA != nil {
			return ended(errA) && ended(errB)
		}
	}
}

func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
