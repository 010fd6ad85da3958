package kubernetes

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps"
)

// InPod runs the part of this program that executes in a Pod.
type InPod struct {
	Self    string // path of this program
	Version string
	// Facts describes the machine.
	Facts func(context.Context) map[string]string
	// Spawner starts this program as a new process for a task.
	Spawner steps.Spawner
	In      io.Reader
	Out     io.Writer
	// Folder of tasks.
	Folder string
	// Now and Sleep are the keeper's clock; nil means the machine's.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error
}

// Work executes the command in words, which follow [Worker], until ctx ends.
func (w InPod) Work(ctx context.Context, words []string) error {
	switch {
	case len(words) == 3 && words[0] == workerKeep:
		silence, err := time.ParseDuration(words[2])
		if err != nil {
			return err
		}
		return w.keep(ctx, words[1], silence)
	case len(words) == 1 && words[0] == workerLook:
		look := Look{Version: w.Version, Program: w.Self, Facts: w.Facts(ctx)}
		if !released(w.Version) {
			look.Build, _ = buildOf(w.Self) // where it cannot be read there is doubt
		}
		if err := json.NewEncoder(w.Out).Encode(look); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	case len(words) == 1 && words[0] == workerWait:
		<-ctx.Done()
		return nil
	case len(words) == 1 && words[0] == workerTask:
		return w.task(ctx)
	}
	return fmt.Errorf("%q is not known", strings.Join(words, " "))
}

// keep returns when a file has not changed for silence: the run is then dead, and the Job's objects can be
// deleted. It uses only this machine's clock.
func (w InPod) keep(ctx context.Context, file string, silence time.Duration) error {
	now, sleep := time.Now, steps.Sleep
	if w.Now != nil {
		now, sleep = w.Now, w.Sleep
	}
	last, heard := "", now()
	for now().Sub(heard) < silence {
		if text, err := os.ReadFile(file); err == nil && string(text) != last {
			last, heard = string(text), now()
		}
		if sleep(ctx, time.Second) != nil {
			return nil
		}
	}
	_, err := fmt.Fprintf(w.Out, "the run has not been heard of for %s: all that it made here goes\n", silence)
	return err
}

// task carries out an order and brings the files of its folder back.
func (w InPod) task(ctx context.Context) error {
	folder, err := os.MkdirTemp(w.Folder, "task-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	in := bufio.NewReader(w.In)
	head, err := receive(in, folder)
	if err != nil {
		return err
	}
	frames := &frameWriter{out: w.Out}
	command := steps.Command{Argv: append(append([]string{w.Self}, head.Args...), folder), Stdout: frames.stream(streamOut),
		Stderr: frames.stream(streamErr)}
	for _, e := range head.Env {
		name, value, _ := strings.Cut(e, "=")
		command.Env = append(command.Env, steps.EnvVar{Name: name, Value: value, Secret: true})
	}
	child, err := w.Spawner.Spawn(ctx, command)
	if err != nil {
		return err
	}
	go passSignals(in, child)
	ended := ""
	if err := steps.AwaitChild(ctx, child, 0); err != nil {
		ended = err.Error()
	}
	if err := frames.files(folder, head.Files); err != nil {
		return err
	}
	return frames.write(frame{Ended: &ended}, nil)
}

// passSignals sends a child the signals that lines name, and ends it when the input ends, because its parent
// is then gone.
func passSignals(in *bufio.Reader, child steps.Child) {
	for {
		line, err := in.ReadString('\n')
		if name := strings.TrimSpace(line); name != "" && err == nil {
			_ = child.Signal(name) // one that has ended gets none
		}
		if err != nil {
			_ = child.Signal("TERM")
			return
		}
	}
}

// frameWriter writes frames. Both streams of a task write at the same time.
type frameWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (f *frameWriter) write(head frame, piece []byte) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err = f.out.Write(append(append(text, '\n'), piece...))
	return err
}

type streamWriter struct {
	frames *frameWriter
	name   string
}

func (f *frameWriter) stream(name string) io.Writer { return streamWriter{f, name} }

func (s streamWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return len(p), s.frames.write(frame{Stream: s.name, Size: int64(len(p))}, p)
}

// files sends the files of a folder that did not come with the order.
func (f *frameWriter) files(folder string, known []fileRef) error {
	all, err := filesOf(folder)
	if err != nil {
		return err
	}
	for _, k := range known {
		delete(all, k.Name)
	}
	for name, path := range all {
		if err := f.file(name, path); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (f *frameWriter) file(name, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // opened for reading
	info, err := file.Stat()
	if err != nil {
		return err
	}
	text, err := json.Marshal(frame{File: name, Size: info.Size()})
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.out.Write(append(text, '\n')); err != nil {
		return err
	}
	n, err := io.Copy(f.out, file)
	if err == nil && n != info.Size() {
		err = errors.New("it changed while it was sent")
	}
	return err
}
