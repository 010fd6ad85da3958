package result

import (
	"cmp"
	"slices"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// Names holds the names of the two sides of a comparison in reports: what differs between them, such as the
// tags of their images.
type Names struct{ Head, Base string }

// String returns "v0.11.0 against v0.10.2".
func (n Names) String() string { return n.Head + " against " + n.Base }

// maxSideName is the length in runes beyond which a difference is too long for a name.
const maxSideName = 40

// roles are values of an axis that name a role and not a difference.
var roles = []string{
	"a", "after", "b", "base", "baseline", "before", "candidate", "change", "control", "current", "head", "merge_base", "new", "old",
	"patched", "pr", "previous", "reference", "stock", "test",
}

// plainValues are values that say nothing without the name of their axis.
var plainValues = lazyregexp.New(`(?i)^([-+]?[0-9.]+|true|false|on|off|yes|no|none|null|enabled|disabled|default)$`)

// Names returns what to call the sides, whose servers are among the targets: the tags of their
// images, the values of the compared axis, the versions that the servers reported, their models, or
// the first arguments that differ. Where nothing of that differs, or is too long, the roles remain:
// "head" and "base".
func (s Sides) Names(targets []Target) Names {
	for _, name := range []func() Names{
		func() Names { return s.images(targets) }, s.values, func() Names { return s.versions(targets) }, s.models, s.settings,
		func() Names { return Names{shortAddress(s.Head), shortAddress(s.Base)} },
	} {
		if n := name(); n.usable() {
			return n
		}
	}
	return Names{"head", "base"}
}

func (n Names) usable() bool {
	return n.Head != n.Base && fitsName(n.Head) && fitsName(n.Base)
}

func fitsName(s string) bool { return s != "" && len([]rune(s)) <= maxSideName }

// difference returns the first difference with one of the names.
func (s Sides) difference(names ...string) (SideDifference, bool) {
	for _, d := range s.Differences {
		if slices.Contains(names, d.What) && d.Base != "" && d.Head != "" {
			return d, true
		}
	}
	return SideDifference{}, false
}

// images names the sides by their images: the tags, with the last part of the repository if that
// differs too. The versions of the servers say more than digests.
func (s Sides) images(targets []Target) Names {
	d, ok := s.image()
	if !ok || strings.Contains(d.Base+d.Head, ", ") { // the images of a deployment are a list
		return Names{}
	}
	base, head := parseImage(d.Base), parseImage(d.Head)
	if base.digest || head.digest {
		if n := s.versions(targets); n.usable() {
			return n
		}
	}
	switch {
	case base.repository == head.repository:
		return Names{head.version, base.version}
	case base.name() == head.name():
		return Names{shortHash(d.Head), shortHash(d.Base)}
	}
	return Names{head.name(), base.name()}
}

// image returns how the images differ, if all processes of a side that differ have the same one.
func (s Sides) image() (SideDifference, bool) {
	var found SideDifference
	for _, d := range s.Differences {
		if d.What != "image" && !strings.HasSuffix(d.What, ".image") || d.Base == "" || d.Head == "" {
			continue
		}
		if found.What != "" && (d.Base != found.Base || d.Head != found.Head) {
			return SideDifference{}, false
		}
		found = d
	}
	return found, found.What != ""
}

// image is a reference to an image.
type image struct {
	repository, version string
	digest              bool
}

func parseImage(ref string) image {
	if repository, digest, ok := strings.Cut(ref, "@"); ok {
		return image{repository, shortHash(strings.TrimPrefix(digest, "sha256:")), true}
	}
	if digest, ok := strings.CutPrefix(ref, "sha256:"); ok {
		return image{"", shortHash(digest), true}
	}
	if at := strings.LastIndexByte(ref, ':'); at > strings.LastIndexByte(ref, '/') {
		return image{ref[:at], shortHash(ref[at+1:]), false}
	}
	return image{ref, "latest", false}
}

// name returns the last part of the repository with the version.
func (i image) name() string {
	last := i.repository[strings.LastIndexByte(i.repository, '/')+1:]
	if last == "" {
		return i.version
	}
	return last + ":" + i.version
}

var hash = lazyregexp.New(`\b[0-9a-f]{40,64}\b`)

// shortHash abbreviates the commits and digests in a text.
func shortHash(s string) string {
	return hash.ReplaceAllStringFunc(s, func(h string) string {
		if len(h) == 64 {
			return h[:12]
		}
		return h[:8]
	})
}

// values names the sides by their values on the compared axis, unless both name a role.
func (s Sides) values() Names {
	s.Head, s.Base = shortAddress(s.Head), shortAddress(s.Base)
	if s.Head == "" || s.Base == "" || areRoles(s.Head, s.Base) {
		return Names{}
	}
	name := func(value string) string {
		if s.Axis != "" && (plainValues.MatchString(s.Head) || plainValues.MatchString(s.Base)) {
			return s.Axis + "=" + value
		}
		return shortHash(value)
	}
	return Names{name(s.Head), name(s.Base)}
}

// address matches the address of a block, which can be the value of an axis.
var address = lazyregexp.New(`^(?:server|deployment)\.(?:[a-z_]+\.)?([^.\[\]"]+)$`)

// shortAddress returns the name in an address, and another value as it is.
func shortAddress(value string) string { return address.ReplaceAllString(value, "$1") }

// versions names the sides by the versions that their servers reported.
func (s Sides) versions(targets []Target) Names {
	name := func(addr string) string {
		for _, t := range targets {
			if t.Addr == addr && t.Version() != "" {
				return strings.TrimSpace(t.Engine + " " + t.Version())
			}
		}
		return ""
	}
	if d, ok := s.difference("version"); ok {
		return Names{d.Head, d.Base}
	}
	return Names{name(s.HeadTarget), name(s.BaseTarget)}
}

// models names the sides by the last part of their models' names.
func (s Sides) models() Names {
	d, ok := s.difference("model")
	if !ok {
		return Names{}
	}
	last := func(path string) string { return path[strings.LastIndexByte(strings.TrimRight(path, "/"), '/')+1:] }
	return Names{last(d.Head), last(d.Base)}
}

// unnamed are differences that are no names: lists and paths.
var unnamed = []string{"image", "executable", "made of", "url"}

// settings names the sides by the argument, variable or work that differs, if only one does. A value
// that is itself a role, such as SIDE=head, does not count.
func (s Sides) settings() Names {
	var all []SideDifference
	for _, d := range s.Differences {
		if d.Base != d.Head && !slices.Contains(unnamed, d.What) && !strings.HasPrefix(d.What, "simulate.") && !areRoles(d.Head, d.Base) {
			all = append(all, d)
		}
	}
	if len(all) != 1 {
		return Names{}
	}
	return Names{all[0].setting(all[0].Head), all[0].setting(all[0].Base)}
}

// areRoles reports whether two set values both name a role.
func areRoles(head, base string) bool {
	return head != "" && base != "" && slices.Contains(roles, strings.ToLower(head)) && slices.Contains(roles, strings.ToLower(base))
}

// setting returns "max_num_seqs=512".
func (d SideDifference) setting(value string) string {
	name := strings.TrimPrefix(d.What, "work: ")
	for _, part := range []string{"args.", "env."} {
		name = strings.Replace(name, part, "", 1)
	}
	return name + "=" + shortHash(cmp.Or(value, "unset"))
}

// Names returns what to call the sides of a decision of a gate.
func (d *Document) Names(g *Gate, of *Decision) Names {
	if of.Head == "" && of.Base == "" {
		return storedNames(g)
	}
	return d.names(d.sidesOf(g, of))
}

// storedNames names the sides of a comparison with results of earlier sessions, or of a limit.
func storedNames(g *Gate) Names {
	_, name, _ := strings.Cut(strings.TrimPrefix(g.Baseline, "baseline."), ".")
	if !fitsName(name) || g.BaselineKind == BaselinePaired {
		return Names{"head", "base"}
	}
	return Names{"head", name}
}

// names returns the names of sides. Several heads, or several bases, that would have one name keep
// the values of their axis.
func (d *Document) names(s Sides) Names {
	n := s.Names(d.Targets)
	for _, other := range d.Sides {
		if other.Head == s.Head && other.Base == s.Base {
			continue
		}
		o := other.Names(d.Targets)
		if other.Head != s.Head && o.Head == n.Head || other.Base != s.Base && o.Base == n.Base {
			return Names{s.Head, s.Base}
		}
	}
	return n
}

// sidesOf returns the sides of a decision, with only the values of their axis if the document does
// not describe them.
func (d *Document) sidesOf(g *Gate, of *Decision) Sides {
	for _, s := range d.Sides {
		if s.Baseline == g.Baseline && s.Base == of.Base && s.Head == of.Head {
			return s
		}
	}
	s := Sides{Baseline: g.Baseline, Base: of.Base, Head: of.Head}
	for i := range d.Benchmarks {
		if d.Benchmarks[i].Addr != g.Benchmark {
			continue
		}
		for _, c := range d.Benchmarks[i].Cells {
			switch c.Hash {
			case of.Cell:
				s.HeadTarget, s.Axis = c.Target, of.ComparedAxis(c.Values)
			case of.BaseCell:
				s.BaseTarget = c.Target
			}
		}
	}
	return s
}

// ComparedAxis returns the axis of the head's cell that distinguishes the sides, "" if unknown.
func (d *Decision) ComparedAxis(cell []AxisValue) string {
	for _, a := range cell {
		if !slices.ContainsFunc(d.Values, func(b AxisValue) bool { return a.Name == b.Name }) {
			return a.Name
		}
	}
	return ""
}

// NameOf returns what to call the side that has a value on an axis, "" if no comparison or several
// with different names have it.
func (d *Document) NameOf(axis, value string) string {
	var found []string
	for _, s := range d.compared() {
		if s.Axis != axis || s.Head != value && s.Base != value {
			continue
		}
		n := d.names(s)
		name := n.Head
		if s.Base == value {
			name = n.Base
		}
		if !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// compared returns the sides of all comparisons.
func (d *Document) compared() []Sides {
	out := slices.Clone(d.Sides)
	known := map[[3]string]bool{}
	for _, s := range out {
		known[[3]string{s.Baseline, s.Base, s.Head}] = true
	}
	for i := range d.Gates {
		g := &d.Gates[i]
		for j := range g.Decisions {
			of := &g.Decisions[j]
			key := [3]string{g.Baseline, of.Base, of.Head}
			if of.Head == "" && of.Base == "" || known[key] {
				continue
			}
			known[key] = true
			out = append(out, d.sidesOf(g, of))
		}
	}
	return out
}
