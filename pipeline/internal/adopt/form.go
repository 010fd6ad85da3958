package adopt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Source is a text that defines servers, loads or both.
type Source struct {
	// Name for people: a path, "" for a command line.
	Name string
	Data []byte
	// Form names the form; "" finds it by its shape.
	Form string
	// Open reads a file that the source names.
	Open func(path string) ([]byte, error)
	// Home replaces ~ and $HOME: the home folder of the user.
	Home string
}

// form is one way in which people write down servers and loads.
type form struct {
	// name is its name in front of a source, title the one for people.
	name, title string
	// matches reports whether a source has the form, by its shape alone.
	matches func(s *source) bool
	// read adds what the source defines.
	read func(d *Definition, s *source) error
}

// source is a source with what several forms read of it.
type source struct {
	Source
	documents []any // nil if it is neither JSON nor YAML with fields
	// script returns its commands as those of a shell script, with the names of variables in place of their values.
	script func() ([]command, error)
}

// first returns the first document.
func (s *source) first() any {
	if len(s.documents) == 0 {
		return nil
	}
	return s.documents[0]
}

// forms is the table of forms. The first whose shape matches reads a source.
var forms = []form{
	compose, kubernetes, servingTests, engineTests, recipe, srtSlurm, perfEval, ascend, llmd, perfSanity, inferenceX, dockerRun, sweep,
	commandLine,
}

// Forms returns the names of the forms, with what they are.
func Forms() [][2]string {
	out := make([][2]string, len(forms))
	for i, f := range forms {
		out[i] = [2]string{f.name, f.title}
	}
	return out
}

// IsForm reports whether a form has this name.
func IsForm(name string) bool {
	return slices.ContainsFunc(forms, func(f form) bool { return f.name == name })
}

// errUnknown means that a source has no known form.
var errUnknown = errors.New("has no form that is known")

// Read reads sources that together define servers and loads.
func Read(sources ...Source) (*Definition, error) {
	d := &Definition{}
	for _, s := range sources {
		d.home, d.open = s.Home, s.Open
		if err := d.readSource(&source{Source: s}); err != nil {
			return nil, fmt.Errorf("%s %w", cmp.Or(s.Name, "the command line"), err)
		}
	}
	if len(d.servers) == 0 {
		return nil, fmt.Errorf("%s: no server is defined there; name the server's command line by another --from", nameAll(sources))
	}
	return d, nil
}

func nameAll(sources []Source) string {
	var names []string
	for _, s := range sources {
		names = append(names, cmp.Or(s.Name, "the command line"))
	}
	return strings.Join(names, ", ")
}

func (d *Definition) readSource(s *source) error {
	if !utf8.Valid(s.Data) || strings.ContainsAny(string(s.Data), refBegin+refEnd+"\x00") {
		return errors.New("is not a text in UTF-8")
	}
	decoded, failed := documents(s.Data)
	if failed != nil && !errors.Is(failed, errNoDocument) {
		return failed
	}
	s.documents = decoded
	if code := fenced(string(s.Data)); code != "" {
		s.Data = []byte(code)
		return d.readSource(s)
	}
	s.script = sync.OnceValues(func() ([]command, error) {
		return commands(string(s.Data), func(name string, _ *string) string { return name })
	})
	for _, f := range forms {
		if s.Form != "" && s.Form != f.name || s.Form == "" && !f.matches(s) {
			continue
		}
		from := f.title
		if s.Name != "" {
			from = s.Name + " (" + from + ")"
		}
		d.Sources = append(d.Sources, from)
		if err := f.read(d, s); err != nil {
			return fmt.Errorf("(%s) %w", f.title, err)
		}
		return nil
	}
	if failed != nil && strings.HasPrefix(strings.TrimSpace(string(s.Data)), "{") {
		return failed
	}
	for _, text := range hereDocuments(string(s.Data)) { // a script that writes a manifest
		part := s.Source
		part.Data = []byte(text)
		if err := d.readSource(&source{Source: part}); !errors.Is(err, errUnknown) {
			return err
		}
	}
	var known []string
	for _, f := range forms {
		known = append(known, f.name)
	}
	return fmt.Errorf("%w: %s", errUnknown, strings.Join(known, ", "))
}

// fenced returns the code of a page between its fences, "" for a text without any.
func fenced(text string) string {
	var code strings.Builder
	within := false
	for line := range strings.Lines(text) {
		switch fence := strings.HasPrefix(strings.TrimSpace(line), "```"); {
		case fence:
			within = !within
		case within:
			code.WriteString(strings.TrimPrefix(line, "$ "))
		}
	}
	return code.String()
}
