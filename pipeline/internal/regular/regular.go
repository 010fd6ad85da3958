// Package regular opens files that users name, and refuses other kinds of files: opening a named
// pipe waits for its writer, perhaps forever, and a device never ends.
package regular

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Error reports a path that is not a regular file.
type Error struct {
	Path string
	What string // "a named pipe"
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s is %s, not a regular file", e.Path, e.What)
}

// Open opens a regular file for reading. It never waits.
func Open(path string) (*os.File, error) {
	// Without O_NONBLOCK opening could wait. A check before opening could refer to another file.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &Error{path, what(info.Mode())}
	}
	if err != nil {
		_ = f.Close() // nothing was read
		return nil, err
	}
	return f, nil
}

func what(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "something else"
}
