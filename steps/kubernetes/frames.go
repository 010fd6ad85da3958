package kubernetes

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"

	"github.com/servegate/pipeline/steps"
)

// TaskFolder has the folders of tasks in their Pod.
const TaskFolder = "/var/run/pipeline/tasks"

// orderHead is the first line of a task's input. The contents of its files follow in their order, and then
// names of signals, one per line.
type orderHead struct {
	// Args of this program; the folder follows them.
	Args  []string  `json:"args"`
	Env   []string  `json:"env,omitempty"`
	Files []fileRef `json:"files,omitempty"`
}

type fileRef struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

type order struct {
	head  orderHead
	paths []string
}

// newOrder returns the input of a command: its arguments without the program and the folder, and the files of
// the folder.
func newOrder(c steps.Command, folder string) (order, error) {
	if len(c.Argv) < 2 || c.Argv[len(c.Argv)-1] != folder {
		return order{}, errors.New("a task is a command of this program on a folder")
	}
	o := order{head: orderHead{Args: c.Argv[1 : len(c.Argv)-1]}}
	for _, e := range c.Env {
		o.head.Env = append(o.head.Env, e.Name+"="+e.Value)
	}
	all, err := filesOf(folder)
	if err != nil {
		return o, err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		info, err := os.Stat(all[name])
		if err != nil {
			return o, err
		}
		o.head.Files = append(o.head.Files, fileRef{name, info.Size()})
		o.paths = append(o.paths, all[name])
	}
	return o, nil
}

// send writes the order.
func (o order) send(out io.Writer) error {
	text, err := json.Marshal(o.head)
	if err != nil {
		return err
	}
	if _, err := out.Write(append(text, '\n')); err != nil {
		return err
	}
	for i, path := range o.paths {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		_, err = io.CopyN(out, file, o.head.Files[i].Size)
		if err := errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("sending %s: %w", path, err)
		}
	}
	return nil
}

// receive reads an order and writes its files into a folder.
func receive(in *bufio.Reader, folder string) (orderHead, error) {
	var head orderHead
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &head)
	}
	if err != nil {
		return head, fmt.Errorf("the order of a task: %w", err)
	}
	for _, f := range head.Files {
		if err := steps.CheckFile(steps.File{Name: f.Name}); err != nil {
			return head, err
		}
		file, err := os.OpenFile(filepath.Join(folder, f.Name), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
		if err != nil {
			return head, err
		}
		_, err = io.CopyN(file, in, f.Size)
		if err := errors.Join(err, file.Close()); err != nil {
			return head, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return head, nil
}

// frame is the line before a piece of a task's output.
type frame struct {
	// Stream is one of the streams, or "" for a file.
	Stream string `json:"stream,omitempty"`
	File   string `json:"file,omitempty"`
	Size   int64  `json:"size"`
	// Ended is how the task ended, "" for success; it is in the last frame only.
	Ended *string `json:"ended,omitempty"`
}

const (
	streamOut = "out"
	streamErr = "err"
)

// maxFrame limits the length of the line before a piece.
const maxFrame = 1 << 12

// frameReader parses a task's output, which may arrive in pieces of any size.
type frameReader struct {
	stdout, stderr io.Writer
	folder         string

	line  []byte
	now   frame
	left  int64 // of the piece
	file  *renameio.PendingFile
	ended *string
	err   error
}

// Write is called by the stream alone.
func (f *frameReader) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0 && f.err == nil; {
		if f.left > 0 {
			n := min(f.left, int64(len(rest)))
			f.err = f.piece(rest[:n])
			rest = rest[n:]
			continue
		}
		part, after, whole := bytes.Cut(rest, []byte("\n"))
		rest = after
		if len(f.line)+len(part) > maxFrame {
			f.err = errors.New("what answers there is not this program")
			break
		}
		f.line = append(f.line, part...)
		if whole {
			f.err = f.begin()
		}
	}
	if f.err != nil {
		return 0, f.err
	}
	return len(p), nil
}

// begin parses the line of a frame.
func (f *frameReader) begin() error {
	f.now = frame{}
	err := json.Unmarshal(f.line, &f.now)
	f.line = f.line[:0]
	switch {
	case err != nil:
		return fmt.Errorf("what answers there is not this program: %w", err)
	case f.now.Ended != nil:
		f.ended = f.now.Ended
		return nil
	case f.now.File != "":
		if err := steps.CheckFile(steps.File{Name: f.now.File}); err != nil {
			return err
		}
		if f.file, err = renameio.NewPendingFile(filepath.Join(f.folder, f.now.File), renameio.WithPermissions(0o600)); err != nil {
			return err
		}
	}
	f.left = f.now.Size
	if f.left == 0 {
		return f.whole()
	}
	return nil
}

func (f *frameReader) piece(p []byte) (err error) {
	f.left -= int64(len(p))
	switch {
	case f.now.File != "":
		_, err = f.file.Write(p)
	case f.now.Stream == streamOut:
		_, err = f.stdout.Write(p)
	default:
		_, err = f.stderr.Write(p)
	}
	if err == nil && f.left == 0 {
		err = f.whole()
	}
	return err
}

func (f *frameReader) whole() error {
	if f.now.File == "" {
		return nil
	}
	return f.file.CloseAtomicallyReplace()
}

// end returns how the task ended, given the error of its stream.
func (f *frameReader) end(stream error) error {
	if f.file != nil {
		_ = f.file.Cleanup() // has no effect on a complete file
	}
	switch {
	case f.err != nil:
		return f.err
	case f.ended == nil && stream != nil:
		return fmt.Errorf("the connection to it ended: %w", stream)
	case f.ended == nil:
		return errors.New("the connection to it ended")
	case *f.ended != "":
		return errors.New(*f.ended)
	}
	return nil
}
