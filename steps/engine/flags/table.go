package flags

import (
	"embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/servegate/pipeline/steps"
)

//go:embed vllm.txt sglang.txt
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
	Off       Kind = "no"        // a form that says the opposite of an OnOff flag
	StoreBool Kind = "storebool" // an optional true or false
)

// kinds are those that a list can name.
var kinds = []Kind{Text, Int, Float, Size, JSON, List, Optional, Choice, Switch, OnOff, StoreBool}

// Def is one flag of a version.
type Def struct {
	// Name is the first name, with dashes.
	Name    string
	Kind    Kind
	Choices []string
	// Names are all its names, those that say the opposite excepted.
	Names     []string
	opposites []string
}

// Table holds the flags of one version of one engine.
type Table struct {
	Engine, Version string
	content         func() content
}

// content is what a table knows; it is made when it is first asked for.
type content struct {
	defs  map[string]Def // by every name
	names []string       // the first names, sorted
}

// Lookup finds a flag by any of its names, dashes included.
func (t *Table) Lookup(name string) (Def, bool) {
	d, ok := t.content().defs[name]
	return d, ok
}

// Names lists the flags by their first names.
func (t *Table) Names() []string { return slices.Clone(t.content().names) }

// Complete finds the flags that a name can stand for as argparse reads it: the one of that
// name, or else all that begin with it. Several mean that the engine refuses the name as
// ambiguous.
func (t *Table) Complete(name string) []Def {
	if d, ok := t.Lookup(name); ok {
		return []Def{d}
	}
	if !strings.HasPrefix(name, "--") || len(name) < len("--x") {
		return nil
	}
	defs := t.content().defs
	var out []Def
	for _, full := range slices.Sorted(maps.Keys(defs)) {
		d := defs[full]
		same := func(o Def) bool { return o.Name == d.Name && o.Kind == d.Kind }
		if strings.HasPrefix(full, name) && !slices.ContainsFunc(out, same) {
			out = append(out, d)
		}
	}
	return out
}

// Nearest is the newest known table that is not newer than version, or the oldest one.
// A version that is no release, "nightly" or a commit, means the newest, and so does none. ok is false for an engine without lists.
func Nearest(engine, version string) (table *Table, ok bool) {
	tables := index()[engine]
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

// Known is what the lists say about one version of an engine.
type Known struct {
	// Tables to look at: the version's own, or those of its neighbours, the older first.
	// Empty for an engine without lists.
	Tables []*Table
	// Own reports whether the table is the version's own: what is not in it, the engine
	// refuses. Neighbours only suggest what a version has.
	Own bool
}

// For returns what is known of a version. One that is not stated is taken for the newest.
func For(engine, version string) Known {
	tables := index()[engine]
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

// Lookup finds a flag in each table that has it.
func (k Known) Lookup(name string) []Def {
	var out []Def
	for _, t := range k.Tables {
		if def, ok := t.Lookup(name); ok {
			out = append(out, def)
		}
	}
	return out
}

// Complete finds what a name stands for: in each table that has it, or else by completion
// in each table where it is the beginning of flags.
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

// Having lists the known versions of an engine that have a flag, as runs of versions that
// follow each other: each has its first and its last.
func Having(engine, name string) [][2]string {
	var out [][2]string
	before := false
	for _, t := range index()[engine] {
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

// releaseForm has the numbers of a release, and what follows them: rc1, post1, -cu129, +cpu.
var releaseForm = regexp.MustCompile(`^v?[0-9]+(?:\.[0-9]+)*(?:\.?(post|rc|a|b|dev)([0-9]*))?`)

// compare orders versions as releases are: a candidate before its release, a patch of it
// (post1) behind. Builds of one release (+cpu, -cu129) are equal.
func compare(a, b string) int {
	if c := steps.CompareReleases(a, b); c != 0 {
		return c
	}
	return patch(a) - patch(b)
}

// patch is -1 for what comes before a release, and else the number behind post.
func patch(version string) int {
	m := releaseForm.FindStringSubmatch(version)
	switch {
	case m == nil || m[1] == "":
		return 0
	case m[1] != "post":
		return -1
	}
	n, _ := strconv.Atoi(m[2]) // "post" alone is the release's own
	return n
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
		engine, _ := strings.CutSuffix(e.Name(), ".txt")
		text, err := files.ReadFile(e.Name())
		if err != nil {
			panic(err)
		}
		if out[engine], err = parse(engine, string(text)); err != nil {
			panic(fmt.Sprintf("%s: %v", e.Name(), err))
		}
	}
	return out
})

// parse reads the lists of an engine: for each version, oldest first, a line with its number
// after "=", and its differences to the version before: flags that are new or other after
// "+", and the names of those that are gone after "-".
func parse(engine, text string) ([]*Table, error) {
	var versions []string
	var changes [][]string // lines, by version
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		sign, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case sign == "=":
			if n := len(versions); n > 0 && compare(versions[n-1], rest) >= 0 {
				return nil, fmt.Errorf("%s does not follow %s", rest, versions[n-1])
			}
			versions, changes = append(versions, rest), append(changes, nil)
		case len(versions) == 0:
			return nil, fmt.Errorf("%q stands before any version", line)
		case sign == "+" || sign == "-":
			if _, err := parseDef(rest); sign == "+" && err != nil {
				return nil, fmt.Errorf("%s: %q: %w", versions[len(versions)-1], line, err)
			}
			changes[len(changes)-1] = append(changes[len(changes)-1], line)
		default:
			return nil, fmt.Errorf("%q begins with none of = + -", line)
		}
	}
	out := make([]*Table, len(versions))
	for i, version := range versions {
		out[i] = &Table{Engine: engine, Version: version, content: sync.OnceValue(func() content { return replay(changes[:i+1]) })}
	}
	return out, nil
}

// replay makes the content of a version from the differences of all up to it.
func replay(changes [][]string) content {
	defs := map[string]Def{}
	for _, lines := range changes {
		for _, line := range lines {
			rest := line[len("+ "):]
			if line[0] == '-' {
				delete(defs, rest)
				continue
			}
			def, _ := parseDef(rest) // parse has refused what is wrong
			defs[def.Name] = def
		}
	}
	out := content{defs: map[string]Def{}, names: slices.Sorted(maps.Keys(defs))}
	for _, def := range defs {
		for _, n := range def.Names {
			out.add(n, def)
			if bare, ok := strings.CutPrefix(n, "--"); ok && def.Kind == OnOff {
				out.add("--no-"+bare, def.opposite())
			}
		}
		for _, n := range def.opposites {
			out.add(n, def.opposite())
		}
	}
	return out
}

// add keeps what a name says in its own line, where a flag's opposite has the same name.
func (c content) add(name string, def Def) {
	if have, taken := c.defs[name]; !taken || have.Kind == Off {
		c.defs[name] = def
	}
}

func (d Def) opposite() Def { return Def{Name: d.Name, Kind: Off} }

// parseDef reads one flag: names with commas between, where those after "!" say the
// opposite, a kind, and for choices the words with bars between.
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
