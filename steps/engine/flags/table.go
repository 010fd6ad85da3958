package flags

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/servegate/pipeline/steps"
)

//go:embed *.txt
var files embed.FS

// Kind is what values a flag takes.
type Kind string

// The kinds, as the lists spell them.
const (
	Text      Kind = "str"
	Int       Kind = "int"
	Float     Kind = "float"
	Size      Kind = "size"      // a whole number that also takes 8k or 1M
	JSON      Kind = "json"      // one JSON document
	List      Kind = "list"      // one or more words
	Optional  Kind = "optstr"    // with or without a value
	Choice    Kind = "choice"    // one of Def.Choices
	Switch    Kind = "true"      // no value; being there is all it says
	OnOff     Kind = "bool"      // no value, and a --no- form beside it
	Off       Kind = "no"        // that form
	StoreBool Kind = "storebool" // an optional true or false
)

// Def is one flag of a version.
type Def struct {
	// Name is the first name, with dashes.
	Name    string
	Kind    Kind
	Choices []string
}

// Table holds the flags of one version of one engine.
type Table struct {
	Engine, Version string
	defs            map[string]Def // by every name
	names           []string       // the first names, in the list's order
}

// Lookup finds a flag by any of its names, dashes included.
func (t *Table) Lookup(name string) (Def, bool) {
	d, ok := t.defs[name]
	return d, ok
}

// Names lists the flags by their first names.
func (t *Table) Names() []string { return slices.Clone(t.names) }

// Nearest is the newest known table that is not newer than version, or the oldest one.
// An empty version means the newest. ok is false for an engine without lists.
func Nearest(engine, version string) (table *Table, ok bool) {
	tables := index()[engine]
	if len(tables) == 0 {
		return nil, false
	}
	best := tables[0]
	for _, t := range tables {
		if version == "" || steps.CompareReleases(t.Version, version) <= 0 {
			best = t
		}
	}
	return best, true
}

// Known is what the lists say about one version of an engine.
type Known struct {
	// Tables to look at: the version's own, or those of its neighbours, the older first.
	// Empty for an engine without lists.
	Tables []*Table
	// Sure says that a flag in none of them is not in the version either: the version has
	// a list of its own, or lies between two that have.
	Sure bool
}

// For returns what is known of a version. A version that is not stated, that is newer
// than the newest list or older than the oldest may have flags that no list has.
func For(engine, version string) Known {
	tables := index()[engine]
	switch {
	case len(tables) == 0:
		return Known{}
	case !steps.IsRelease(version):
		return Known{Tables: tables[len(tables)-1:]}
	}
	above := slices.IndexFunc(tables, func(t *Table) bool { return steps.CompareReleases(t.Version, version) >= 0 })
	switch {
	case above < 0:
		return Known{Tables: tables[len(tables)-1:]}
	case steps.CompareReleases(tables[above].Version, version) == 0:
		return Known{Tables: tables[above : above+1], Sure: true}
	case above == 0:
		return Known{Tables: tables[:1]}
	}
	return Known{Tables: tables[above-1 : above+1], Sure: true}
}

// Lookup finds a flag in each table that has it.
func (k Known) Lookup(name string) []Def {
	var out []Def
	for _, t := range k.Tables {
		if d, ok := t.Lookup(name); ok {
			out = append(out, d)
		}
	}
	return out
}

// Having lists the known versions of an engine that have a flag.
func Having(engine, name string) []string {
	var out []string
	for _, t := range index()[engine] {
		if _, ok := t.Lookup(name); ok {
			out = append(out, t.Version)
		}
	}
	return out
}

// lists are the tables of each engine, oldest first.
type lists map[string][]*Table

// index reads the lists once. They are part of the program, and a test reads them all: a
// fault in one is a fault of the program.
var index = sync.OnceValue(func() lists {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err)
	}
	out := lists{}
	for _, e := range entries {
		base, _ := strings.CutSuffix(e.Name(), ".txt")
		engine, version, _ := strings.Cut(base, "-")
		text, err := files.ReadFile(e.Name())
		if err != nil {
			panic(err)
		}
		table, err := parse(engine, version, string(text))
		if err != nil {
			panic(fmt.Sprintf("%s: %v", e.Name(), err))
		}
		out[engine] = append(out[engine], table)
	}
	for _, tables := range out {
		slices.SortFunc(tables, func(a, b *Table) int { return steps.CompareReleases(a.Version, b.Version) })
	}
	return out
})

// parse reads a list: per line names with commas between, a kind, and for choices the
// words with bars between.
func parse(engine, version, text string) (*Table, error) {
	t := &Table{Engine: engine, Version: version, defs: map[string]Def{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := t.add(line); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	return t, nil
}

func (t *Table) add(line string) error {
	fields := strings.SplitN(line, " ", 3)
	if len(fields) < 2 {
		return fmt.Errorf("a line has names and a kind")
	}
	names := strings.Split(fields[0], ",")
	def := Def{Name: names[0], Kind: Kind(fields[1])}
	switch {
	case !slices.Contains([]Kind{Text, Int, Float, Size, JSON, List, Optional, Choice, Switch, OnOff, StoreBool}, def.Kind):
		return fmt.Errorf("%q is no kind", def.Kind)
	case (def.Kind == Choice) != (len(fields) == 3):
		return fmt.Errorf("choices and nothing else have a third word")
	case def.Kind == Choice:
		def.Choices = strings.Split(fields[2], "|")
	}
	t.names = append(t.names, def.Name)
	for _, n := range names {
		if !strings.HasPrefix(n, "-") {
			return fmt.Errorf("%q is no flag", n)
		}
		t.defs[n] = def
		if bare, ok := strings.CutPrefix(n, "--"); ok && def.Kind == OnOff {
			t.defs["--no-"+bare] = Def{Name: def.Name, Kind: Off}
		}
	}
	return nil
}
