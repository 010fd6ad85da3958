package flags

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
)

//go:embed vllm.txt sglang.txt llamacpp.txt trtllm.txt
var files embed.FS

// Kind is the kind of values that a flag accepts.
type Kind string

// The kinds, spelled as in the lists.
const (
	Text      Kind = "str"
	Int       Kind = "int"
	Float     Kind = "float"
	Size      Kind = "size"      // a whole number that also takes 8k or 1M
	JSON      Kind = "json"      // one JSON document
	List      Kind = "list"      // one or more words
	Optional  Kind = "optstr"    // with or without a value
	Choice    Kind = "choice"    // one of Def.Choices
	Options   Kind = "options"   // a file whose settings take precedence over the flags
	Switch    Kind = "true"      // no value; its presence means true
	OnOff     Kind = "bool"      // no value, with a --no- form
	Off       Kind = "no"        // the negated form of an OnOff flag
	StoreBool Kind = "storebool" // an optional true or false
)

// kinds lists those that a list can name.
var kinds = []Kind{Text, Int, Float, Size, JSON, List, Optional, Choice, Options, Switch, OnOff, StoreBool}

// Def is one flag of a version.
type Def struct {
	// Name is the first name, with dashes.
	Name    string
	Kind    Kind
	Choices []string
	// Names are all its names, without the negated ones.
	Names     []string
	opposites []string
}

// Table holds the flags of one version of one engine.
type Table struct {
	Version string
	// exact is set if the engine's parser completes no abbreviations.
	exact bool
	// at is the index of the version in the lineage.
	at    int
	flags *lineage
}

// lineage holds the flags of all versions of an engine. A table reads its version out of it: most commands ask each
// version for a few names, and one set of definitions for each version would be most of their start.
type lineage struct {
	changes map[string][]change // by the first name of a flag, oldest first
	named   map[string][]string // by every name: the first names of the flags that have had it
	names   func() []string     // every name, sorted
}

// change is the definition of a flag from a version on, or nil if the version removes the flag.
type change struct {
	from int
	def  *Def
}

// def returns the definition of a flag in a version, by its first name, or nil.
func (h *lineage) def(first string, version int) *Def {
	var def *Def
	for _, c := range h.changes[first] {
		if c.from > version {
			break
		}
		def = c.def
	}
	return def
}

// add stores a change of a flag.
func (h *lineage) add(first string, c change) {
	h.changes[first] = append(h.changes[first], c)
	if c.def == nil {
		return
	}
	for _, name := range slices.Concat(c.def.Names, c.def.negated()) {
		if !slices.Contains(h.named[name], first) {
			h.named[name] = append(h.named[name], first)
		}
	}
}

// negated returns the names that mean the opposite of the flag.
func (d *Def) negated() []string {
	out := slices.Clone(d.opposites)
	for _, name := range d.Names {
		if bare, ok := strings.CutPrefix(name, "--"); ok && d.Kind == OnOff {
			out = append(out, "--no-"+bare)
		}
	}
	return out
}

// Lookup finds a flag by any of its names, dashes included. A flag's own name has priority over a negated one.
func (t *Table) Lookup(name string) (Def, bool) {
	var opposite *Def
	for _, first := range t.flags.named[name] {
		switch d := t.flags.def(first, t.at); {
		case d == nil:
		case slices.Contains(d.Names, name):
			return *d, true
		case slices.Contains(d.negated(), name):
			opposite = d
		}
	}
	if opposite != nil {
		return Def{Name: opposite.Name, Kind: Off}, true
	}
	return Def{}, false
}

// Names returns the first names of the flags, sorted.
func (t *Table) Names() []string {
	var out []string
	for first := range t.flags.changes {
		if t.flags.def(first, t.at) != nil {
			out = append(out, first)
		}
	}
	slices.Sort(out)
	return out
}

// Complete returns the flags that a name can mean in argparse: the one with that name, or else all
// that begin with it. If there are several, the engine rejects the name as ambiguous. Parsers that
// complete nothing only know the first.
func (t *Table) Complete(name string) []Def {
	if d, ok := t.Lookup(name); ok {
		return []Def{d}
	}
	if t.exact || !strings.HasPrefix(name, "--") || len(name) < len("--x") {
		return nil
	}
	var out []Def
	for _, full := range t.flags.names() {
		if !strings.HasPrefix(full, name) {
			continue
		}
		d, ok := t.Lookup(full)
		same := func(o Def) bool { return o.Name == d.Name && o.Kind == d.Kind }
		if ok && !slices.ContainsFunc(out, same) {
			out = append(out, d)
		}
	}
	return out
}

// Nearest returns the newest known table that is not newer than version, or the oldest one. A
// version that is not a release ("nightly", a commit) or empty means the newest. ok is false for an
// engine without lists.
func Nearest(engine, version string) (table *Table, ok bool) {
	tables := index(engine)
	if len(tables) == 0 {
		return nil, false
	}
	best := tables[0]
	for _, t := range tables {
		if !steps.IsRelease(version) || compare(t.Version, version) <= 0 {
			best = t
		}
	}
	return best, true
}

// Known holds the tables for one version of an engine.
type Known struct {
	// Tables is the version's own table, or those of its neighbours, the older first. It is empty
	// for an engine without lists.
	Tables []*Table
	// Own reports whether the table is the version's own: the engine rejects flags that it lacks.
	// Neighbours only suggest what a version has.
	Own bool
}

// All returns the tables of all versions, the oldest first. Own is false.
func All(engine string) Known { return Known{Tables: index(engine)} }

// For returns the tables for a version. No version means the newest.
func For(engine, version string) Known {
	tables := index(engine)
	switch {
	case len(tables) == 0:
		return Known{}
	case !steps.IsRelease(version):
		return Known{Tables: tables[len(tables)-1:]}
	}
	above := slices.IndexFunc(tables, func(t *Table) bool { return compare(t.Version, version) >= 0 })
	switch {
	case above < 0:
		return Known{Tables: tables[len(tables)-1:]}
	case compare(tables[above].Version, version) == 0:
		return Known{Tables: tables[above : above+1], Own: true}
	case above == 0:
		return Known{Tables: tables[:1]}
	}
	return Known{Tables: tables[above-1 : above+1]}
}

// Lookup returns a flag from each table that has it.
func (k Known) Lookup(name string) []Def {
	var out []Def
	for _, t := range k.Tables {
		if def, ok := t.Lookup(name); ok {
			out = append(out, def)
		}
	}
	return out
}

// Complete returns what a name means: the flag in each table that has it, or else the completions
// in each table.
func (k Known) Complete(name string) []Def {
	if found := k.Lookup(name); len(found) > 0 {
		return found
	}
	var out []Def
	for _, t := range k.Tables {
		for _, d := range t.Complete(name) {
			if !slices.ContainsFunc(out, func(o Def) bool { return o.Name == d.Name }) {
				out = append(out, d)
			}
		}
	}
	return out
}

// Having returns the known versions of an engine that have a flag, as runs of consecutive versions:
// the first and the last of each.
func Having(engine, name string) [][2]string {
	var out [][2]string
	before := false
	for _, t := range index(engine) {
		_, has := t.Lookup(name)
		switch {
		case has && before:
			out[len(out)-1][1] = t.Version
		case has:
			out = append(out, [2]string{t.Version, t.Version})
		}
		before = has
	}
	return out
}

// releaseForm matches the numbers of a release and a suffix: rc1, post1, -cu129, +cpu.
var releaseForm = lazyregexp.New(`^[vb]?[0-9]+(?:\.[0-9]+)*(?:\.?(post|rc|a|b|dev)([0-9]*))?`)

// compare orders versions as releases: a candidate before its release, a patch (post1) after it.
// Builds of one release (+cpu, -cu129) are equal.
func compare(a, b string) int {
	if c := steps.CompareReleases(a, b); c != 0 {
		return c
	}
	return patch(a) - patch(b)
}

// patch returns -1 for a pre-release, and else the number after post.
func patch(version string) int {
	m := releaseForm.FindStringSubmatch(version)
	switch {
	case m == nil || m[1] == "":
		return 0
	case m[1] != "post":
		return -1
	}
	n, _ := strconv.Atoi(m[2]) // "post" alone is the release itself
	return n
}

// index returns the tables of an engine, oldest first, and reads its list once. It panics on an error,
// because the lists are part of the program and a test reads them all.
func index(engine string) []*Table {
	if read := lists[engine]; read != nil {
		return read()
	}
	return nil
}

// lists reads the list of each engine when it is first needed, since most commands need one of them.
var lists = func() map[string]func() []*Table {
	out := map[string]func() []*Table{}
	for _, engine := range []string{"vllm", "sglang", "llamacpp", "trtllm"} {
		out[engine] = sync.OnceValue(func() []*Table {
			text, err := files.ReadFile(engine + ".txt")
			if err != nil {
				panic(err)
			}
			tables, err := parse(string(text))
			if err != nil {
				panic(fmt.Sprintf("%s: %v", engine, err))
			}
			return tables
		})
	}
	return out
}()

// parse reads the list of an engine: for each version, oldest first, a line with its number after
// "=", and its differences to the previous version: new or changed flags after "+", and the names
// of removed flags after "-". Before them, "exact" marks a parser that completes no abbreviations.
func parse(text string) ([]*Table, error) {
	exact := false
	h := &lineage{changes: map[string][]change{}, named: map[string][]string{}}
	h.names = sync.OnceValue(func() []string { return slices.Sorted(maps.Keys(h.named)) })
	var versions []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		sign, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || line[0] == '#':
		case sign == "=":
			if n := len(versions); n > 0 && compare(versions[n-1], rest) >= 0 {
				return nil, fmt.Errorf("%s does not follow %s", rest, versions[n-1])
			}
			versions = append(versions, rest)
		case line == "exact" && len(versions) == 0:
			exact = true
		case len(versions) == 0:
			return nil, fmt.Errorf("%q stands before any version", line)
		case sign == "+" || sign == "-":
			first, c := rest, change{from: len(versions) - 1}
			if sign == "+" {
				def, err := parseDef(rest)
				if err != nil {
					return nil, fmt.Errorf("%s: %q: %w", versions[len(versions)-1], line, err)
				}
				first, c.def = def.Name, &def
			}
			h.add(first, c)
		default:
			return nil, fmt.Errorf("%q begins with none of = + -", line)
		}
	}
	out := make([]*Table, len(versions))
	for i, version := range versions {
		out[i] = &Table{Version: version, exact: exact, at: i, flags: h}
	}
	return out, nil
}

// parseDef reads one flag: names separated by commas, with negated names after "!"; a kind; and for
// choices the words separated by bars.
func parseDef(line string) (Def, error) {
	fields := strings.SplitN(line, " ", 3)
	if len(fields) < 2 {
		return Def{}, fmt.Errorf("a line has names and a kind")
	}
	def := Def{Kind: Kind(fields[1])}
	for n := range strings.SplitSeq(fields[0], ",") {
		bare, opposite := strings.CutPrefix(n, "!")
		switch {
		case !strings.HasPrefix(bare, "-"):
			return Def{}, fmt.Errorf("%q is not a flag", n)
		case opposite:
			def.opposites = append(def.opposites, bare)
		default:
			def.Names = append(def.Names, bare)
		}
	}
	switch {
	case len(def.Names) == 0:
		return Def{}, fmt.Errorf("a flag has a name that says the same as its kind")
	case !slices.Contains(kinds, def.Kind):
		return Def{}, fmt.Errorf("%q is not a kind", def.Kind)
	case len(def.opposites) > 0 && def.Kind != OnOff:
		return Def{}, fmt.Errorf("only %s has an opposite", OnOff)
	case (def.Kind == Choice) != (len(fields) == 3):
		return Def{}, fmt.Errorf("choices and nothing else have a third word")
	case def.Kind == Choice:
		def.Choices = strings.Split(fields[2], "|")
	}
	def.Name = def.Names[0]
	return def, nil
}
