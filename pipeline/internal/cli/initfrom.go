package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/adopt"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/regular"
	"github.com/servegate/pipeline/pipeline/internal/ui"
)

// maxSource is the most that is read of a source.
const maxSource = 8 << 20

// fromHelp describes the forms of --from.
func fromHelp() string {
	var lines []string
	for _, f := range adopt.Forms() {
		lines = append(lines, fmt.Sprintf("  %-18s %s", f[0], f[1]))
	}
	return strings.Join(lines, "\n")
}

// adopt writes the pipeline file for what sources define, and lists what it could not carry over.
func (a *app) adopt(dir string, from []string) error {
	var sources []adopt.Source
	for _, text := range from {
		s, err := a.source(text)
		if err != nil {
			return exit(exitUsage, err)
		}
		sources = append(sources, s)
	}
	d, err := adopt.Read(sources...)
	if err != nil {
		return exit(exitUsage, err)
	}
	if err := a.writeInto(dir, starterFile, d.HCL(starterFile)); err != nil {
		return err
	}
	for _, l := range d.NotCarried() {
		fmt.Fprintf(a.Err, "not carried over: %s (%s)\n", l.What, l.Why)
	}
	_, err = fmt.Fprintf(a.Out, "\nSee what it starts, and what it costs.\n\n    pipeline plan %[1]s --launch\n    pipeline plan %[1]s\n",
		filepath.Join(dir, starterFile))
	return err
}

// rehearse runs a written file in virtual time with a head that is slower. The regression that the gate then finds is the expected end.
func (a *app) rehearse(ctx context.Context, file string) error {
	f := runFlags{plan: planFlags{timeScale: 1, simulate: plan.SimulateVirtual}, progress: func(*app) ui.View { return ui.NewQuiet() }}
	f.config.vars = []string{"rehearsal=10%"}
	fmt.Fprintln(a.Out)
	err := a.run(ctx, f, []string{file})
	if failed, ok := errors.AsType[*exitError](err); ok && failed.code == exitRegression && failed.err == nil {
		_, err = fmt.Fprintln(a.Out, "\nAs expected: the head of this rehearsal is 10 % slower, and the gate found it.")
	}
	return err
}

// source reads FORM=SOURCE or SOURCE: a file, - for the standard input, or a command line.
func (a *app) source(text string) (adopt.Source, error) {
	s := adopt.Source{Home: cmp.Or(a.Getenv("HOME"), "/root")}
	if form, rest, ok := strings.Cut(text, "="); ok && adopt.IsForm(form) {
		s.Form, text = form, rest
	}
	s.Name = filepath.ToSlash(text)
	s.Open = func(path string) ([]byte, error) {
		if !filepath.IsAbs(path) && s.Name != "" && text != "-" {
			path = filepath.Join(filepath.Dir(text), path)
		}
		return readSource(path)
	}
	if text == "-" {
		var err error
		s.Name = "the standard input"
		s.Data, err = io.ReadAll(io.LimitReader(a.In, maxSource))
		return s, err
	}
	var err error
	s.Data, err = readSource(text)
	if err != nil && strings.ContainsAny(text, " \n") && (errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "regular")) {
		s.Name, s.Data = "", []byte(text)
		return s, nil
	}
	return s, err
}

func readSource(path string) ([]byte, error) {
	f, err := regular.Open(path)
	if info, failed := os.Stat(path); err != nil && failed == nil && info.IsDir() {
		return nil, fmt.Errorf("%w; name the file that starts the server, or pass on what a chart or kustomization renders: "+
			"helm template %s | pipeline init --from -", err, path)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	return io.ReadAll(io.LimitReader(f, maxSource))
}
