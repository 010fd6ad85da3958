package driver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/scratch"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// Driver runs load generators.
type Driver struct {
	Spawner steps.Spawner
	// Dir is the folder of the pipeline file, the working directory of programs.
	Dir string
	// Keep makes a folder in the run directory for the files of a run.
	Keep func(name string) (string, error)
	// Tools lists the tools whose results can be read.
	Tools convert.Tools
	// Redact masks secrets in stored files; nil masks nothing.
	Redact *event.Redactor
	// Grace is the time between the stop signal and the kill; 5 s unless set.
	Grace time.Duration
}

// Options configure one run.
type Options struct {
	Driver *steps.Driver
	Values map[string]string
	// Name of the folder for the stored files.
	Name string
	// Log receives the program's output.
	Log io.Writer
	// Program runs the program of the target with the words of the command, as [steps.ServerCapabilities] says;
	// nil starts the command on this machine.
	Program func(ctx context.Context, words []string, output string) ([]byte, error)
}

// maxPrinted is how much of the printed output is stored to be read as a result, in bytes.
const maxPrinted = 4 << 20

// Run runs the program once and imports its result. When Run returns, the whole process group has ended.
func (d Driver) Run(ctx context.Context, opt Options) (result.Run, error) {
	if opt.Program != nil {
		return d.program(ctx, opt)
	}
	folder, err := scratch.New(scratch.Driver)
	if err != nil {
		return result.Run{}, fmt.Errorf("make a folder for the load generator: %w", err)
	}
	defer func() { _ = folder.Remove() }() // if that fails, the next run tries again
	work := folder.Path
	output := filepath.Join(work, opt.Driver.Output)
	if err := os.MkdirAll(filepath.Dir(output), 0o700); err != nil {
		return result.Run{}, fmt.Errorf("make a folder for the load generator: %w", err)
	}
	printed := &bounded{most: maxPrinted}
	if err := d.execute(ctx, opt, work, output, printed); err != nil {
		return result.Run{}, err
	}
	if opt.Driver.Evaluation != nil {
		return d.scores(opt, work, output)
	}
	kept, err := d.keepOutput(opt.Name, output, printed.Bytes())
	if err != nil {
		return result.Run{}, err
	}
	return d.read(kept, opt.Driver)
}

// execute runs the program and waits for its end.
func (d Driver) execute(ctx context.Context, opt Options, work, output string, printed io.Writer) error {
	values := maps.Clone(opt.Values)
	values["dir"], values["output"] = work, output
	argv := expandAll(opt.Driver.Command, values)
	if strings.ContainsRune(argv[0], filepath.Separator) && !filepath.IsAbs(argv[0]) {
		argv[0] = filepath.Join(d.Dir, argv[0])
	}
	both := io.MultiWriter(opt.Log, printed) // one writer for both, so that writes do not overlap
	env := slices.Clone(opt.Driver.Env)
	for i := range env {
		env[i].Value = expand(env[i].Value, values)
	}
	child, err := d.Spawner.Spawn(ctx, steps.Command{Argv: argv, Env: env, Dir: d.Dir, Stdout: both, Stderr: both})
	if err != nil {
		return fmt.Errorf("%s could not be started: %w", subject(opt.Driver), err)
	}
	if err := steps.AwaitChild(ctx, child, d.Grace); err != nil {
		return fmt.Errorf("%s %s failed: %w", subject(opt.Driver), filepath.Base(argv[0]), err)
	}
	return nil
}

// program runs the program of the target. Its output file is in the target's place, which may be a container or another
// machine.
func (d Driver) program(ctx context.Context, opt Options) (result.Run, error) {
	id := make([]byte, 8)
	rand.Read(id) // never fails
	values := maps.Clone(opt.Values)
	values["dir"] = spawn.ProgramFolder + hex.EncodeToString(id)
	values["output"] = path.Join(values["dir"], opt.Driver.Output)
	written, err := opt.Program(ctx, expandAll(opt.Driver.Command, values), values["output"])
	if err != nil {
		return result.Run{}, err
	}
	if d.Keep == nil {
		return d.readFrom(bytes.NewReader(written), opt.Driver.Output, opt.Driver)
	}
	kept, err := d.keep(opt.Name, path.Base(opt.Driver.Output), bytes.NewReader(written))
	if err != nil {
		return result.Run{}, err
	}
	return d.read(kept, opt.Driver)
}

// subject names the kind of program for messages.
func subject(d *steps.Driver) string {
	switch {
	case d.Evaluation != nil:
		return "the evaluation"
	case d.Kind == steps.DriverOffline:
		return "the program"
	}
	return "the load generator"
}

// keepOutput copies the output file, or the printed output without one, into the run directory. It returns the path.
func (d Driver) keepOutput(name, output string, printed []byte) (string, error) {
	source, base := io.Reader(bytes.NewReader(printed)), "printed.txt"
	file, err := os.Open(output)
	switch {
	case err == nil:
		defer func() { _ = file.Close() }() // opened for reading only
		source, base = file, filepath.Base(output)
	case !errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("open what the load generator wrote: %w", err)
	}
	return d.keep(name, base, source)
}

// keep writes a copy with secrets masked into the folder of a run. It returns the path.
func (d Driver) keep(name, base string, source io.Reader) (string, error) {
	folder, err := d.Keep(name)
	if err != nil {
		return "", err
	}
	kept := filepath.Join(folder, base)
	return kept, d.copyMasked(kept, source)
}

// copyMasked writes a copy with secrets masked.
func (d Driver) copyMasked(path string, source io.Reader) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("keep what the load generator wrote: %w", err)
	}
	masked := d.Redact.Writer(out)
	_, err = io.Copy(masked, source)
	if err := errors.Join(err, masked.Close(), out.Close()); err != nil {
		return fmt.Errorf("keep what the load generator wrote: %w", err)
	}
	return nil
}

// read imports the one result of a run.
func (d Driver) read(path string, of *steps.Driver) (result.Run, error) {
	file, err := os.Open(path)
	if err != nil {
		return result.Run{}, err
	}
	defer func() { _ = file.Close() }() // opened for reading only
	return d.readFrom(file, path, of)
}

// readFrom imports the one result in a file at a path.
func (d Driver) readFrom(file io.Reader, path string, of *steps.Driver) (result.Run, error) {
	runs, err := convert.Read(file, path, convert.ReadOptions{Tools: d.Tools, Tool: of.Tool, Records: true})
	if err != nil {
		return result.Run{}, fmt.Errorf("reading what %s wrote: %w", subject(of), err)
	}
	if len(runs) != 1 {
		return result.Run{}, fmt.Errorf("%s has %d results, and a run is one: have %s write a new file each time", path, len(runs),
			subject(of))
	}
	return convert.Single(&runs[0])
}

// bounded keeps the last bytes written, because results are printed at the end.
type bounded struct {
	buf  []byte
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	b.buf = append(b.buf, p...)
	if over := len(b.buf) - 2*b.most; over > 0 {
		b.buf = append(b.buf[:0], b.buf[len(b.buf)-b.most:]...)
	}
	return len(p), nil
}

func (b *bounded) Bytes() []byte { return b.buf[max(0, len(b.buf)-b.most):] }

// expandAll replaces the placeholders of a command.
func expandAll(words []string, values map[string]string) []string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = expand(word, values)
	}
	return out
}

// expand replaces placeholders by their values.
func expand(text string, values map[string]string) string {
	var pairs []string
	for name, value := range values {
		pairs = append(pairs, steps.DriverVar(name), value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
