package argument

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/flags"
	"github.com/zclconf/go-cty/cty"
)

// Lists holds the known flags for one version of an engine.
type Lists struct {
	// Title is the engine's name for people, "vLLM".
	Title string
	name  string
	// version as stated, "" if none.
	version string
	known   flags.Known
}

// NewLists looks up a version of the engine called name. The version may be empty.
func NewLists(name, title, version string) Lists {
	return Lists{Title: title, name: name, version: version, known: flags.For(name, version)}
}

// VersionOf returns the version of a server block: the stated one, or that of its image.
func VersionOf(o steps.Object, images []string) string {
	return steps.ServerSpec{Version: o.Text("version"), Image: o.Text("image"), OwnImages: images}.EngineVersion()
}

// Lookup finds an argument by its name in the file, completed as the engine's parser does. Of two
// neighbouring versions, the older one counts.
func (l Lists) Lookup(name string) (flags.Def, bool) {
	defs := l.complete(name)
	if len(defs) == 0 || defs[0].Name != defs[len(defs)-1].Name {
		return flags.Def{}, false
	}
	return defs[0], true
}

// complete returns the flags that a name in the file can mean, without its key in a document.
func (l Lists) complete(name string) []flags.Def {
	head, _, _ := strings.Cut(FlagName(name), ".")
	return l.known.Complete(head)
}

// Full returns the full name of an argument, without its key in a document, as files spell it:
// tensor_parallel_size for tensor-par, and enable_x for no_enable_x. An unknown or ambiguous name
// is returned unchanged.
func (l Lists) Full(name string) string {
	if def, ok := l.Lookup(name); ok {
		return argOf(def.Name)
	}
	head, _, _ := strings.Cut(Canonical(name), ".")
	return head
}

// False returns how an argument is set to false; other is the form for unknown arguments.
func (l Lists) False(other FalseForm) func(name string) FalseForm {
	return func(name string) FalseForm {
		def, ok := l.Lookup(name)
		switch {
		case !ok:
			return other
		case def.Kind == flags.OnOff || def.Kind == flags.Off:
			return NegateFalse
		case def.Kind == flags.StoreBool:
			return WriteFalse
		}
		return OmitFalse
	}
}

// JSON reports whether an argument's lists are written as one JSON array.
func (l Lists) JSON(name string) bool {
	def, ok := l.Lookup(name)
	return ok && def.Kind == flags.JSON
}

// Check finds arguments of a server block that the version does not have, and values that it does
// not accept. They are errors if the list is for exactly this version, and warnings otherwise,
// because the engine decides. [CheckArgs] checks names that are wrong for any version.
func (l Lists) Check(o steps.Object, style FlagStyle) []steps.Problem {
	if len(l.known.Tables) == 0 || o.Has("url") {
		return nil
	}
	var found []steps.Problem
	for name, v := range Args(o) {
		if CheckArg(name, style) != nil {
			continue
		}
		for _, p := range l.check(name, v) {
			p.Path, p.Warning = []string{"args", name}, p.Warning || !l.known.Own
			found = append(found, p)
		}
	}
	return found
}

func (l Lists) check(name string, v cty.Value) []steps.Problem {
	flag, _, dotted := strings.Cut(FlagName(name), ".")
	defs := l.known.Lookup(flag)
	if len(defs) == 0 {
		p := l.unlisted(name, flag)
		if _, completed := l.Lookup(name); !completed {
			return []steps.Problem{p}
		}
		rest := l.checkValue(name, dotted, l.complete(name), v)
		return append([]steps.Problem{p}, rest...)
	}
	return l.checkValue(name, dotted, defs, v)
}

// unlisted returns the problem for a name that no list has as written.
func (l Lists) unlisted(name, flag string) steps.Problem {
	defs := l.complete(name)
	switch {
	case len(defs) == 0 || len(defs) > 1 && l.short(name) != "":
		return steps.Problem{Summary: fmt.Sprintf("%s has no argument %s", l.who(), name), Detail: l.hint(name, flag)}
	case len(defs) == 1:
		return steps.Problem{
			Warning: true, Summary: fmt.Sprintf("args.%s is short for %s", name, argOf(defs[0].Name)),
			Detail: fmt.Sprintf("%s completes it. Write %s: another version may have more arguments that begin so.", l.Title, argOf(defs[0].Name)),
		}
	}
	const most = 8
	var full []string
	for _, d := range defs[:min(len(defs), most)] {
		full = append(full, argOf(d.Name))
	}
	if n := len(defs) - most; n > 0 {
		full = append(full, fmt.Sprintf("%d more", n))
	}
	return steps.Problem{
		Summary: fmt.Sprintf("args.%s is ambiguous", name),
		Detail:  fmt.Sprintf("It can stand for %s. Write the full name.", enumerate(full)),
	}
}

func (l Lists) checkValue(name string, dotted bool, defs []flags.Def, v cty.Value) []steps.Problem {
	if dotted || v.IsNull() {
		return nil
	}
	var err error
	for _, def := range defs {
		if err = checkValue(def, v); err == nil {
			return nil
		}
	}
	detail := fmt.Sprintf("The list of arguments of %s says so.", l.who())
	if !l.known.Own {
		detail += " The value is passed on as it is."
	}
	return []steps.Problem{{Summary: fmt.Sprintf("args.%s %v", name, err), Detail: detail}}
}

// who names the checked version, "vLLM 0.11.0", or the neighbours of a version without a list.
func (l Lists) who() string {
	tables := l.known.Tables
	switch {
	case l.known.Own:
		return l.Title + " " + plainVersion(l.version)
	case len(tables) == 2:
		return fmt.Sprintf("%s %s (between the known versions %s and %s)", l.Title, plainVersion(l.version), tables[0].Version, tables[1].Version)
	case steps.IsRelease(l.version) && steps.CompareReleases(l.version, tables[0].Version) < 0:
		return fmt.Sprintf("%s %s (the oldest known version)", l.Title, tables[0].Version)
	}
	return fmt.Sprintf("%s %s (the newest known version)", l.Title, tables[0].Version)
}

func plainVersion(version string) string { return strings.TrimPrefix(version, "v") }

// enumerate joins words: "a, b and c".
func enumerate(list []string) string {
	if n := len(list) - 1; n > 0 {
		return strings.Join(list[:n], ", ") + " and " + list[n]
	}
	return strings.Join(list, "")
}

// hint suggests an alternative and lists the versions that have the argument.
func (l Lists) hint(name, flag string) string {
	var parts []string
	if long := l.short(name); long != "" {
		parts = append(parts, fmt.Sprintf("Write %s: flags of one dash are written in full.", long))
	} else if near := l.nearest(flag); near != "" {
		parts = append(parts, fmt.Sprintf("Did you mean %s?", argOf(near)))
	}
	if having := l.having(flag); having != "" {
		parts = append(parts, having+" "+name+".")
	}
	switch {
	case !l.known.Own && l.version == "":
		parts = append(parts, "It is passed on as it is. State version to have arguments checked against that version.")
	case !l.known.Own:
		parts = append(parts, "It is passed on as it is: the version may have arguments that the lists lack.")
	case len(parts) == 0:
		parts = append(parts, "Remove it, or state the version that has it.")
	}
	return strings.Join(parts, " ")
}

// having lists the versions with a flag: "vLLM 0.6.4 to 0.8.5 and 0.33.0 have". It returns "" if
// there are none.
func (l Lists) having(flag string) string {
	var runs []string
	verb := "has"
	for _, run := range flags.Having(l.name, flag) {
		text := run[0]
		if run[1] != run[0] {
			text += " to " + run[1]
		}
		runs = append(runs, text)
		if len(runs) > 1 || run[1] != run[0] {
			verb = "have"
		}
	}
	if len(runs) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s %s", l.Title, enumerate(runs), verb)
}

// beforeLists are single-dash flags that an engine handles before its parser: vLLM's -O3.
var beforeLists = map[string][]string{"O": {"--optimization-level", "--compilation-config"}}

// short returns the argument that a single-dash flag means: -tp, -O, -q. It returns "" if the
// engine has no such flag, and the name itself for an engine without lists.
func (l Lists) short(name string) string {
	if len(l.known.Tables) == 0 {
		return name
	}
	for _, t := range l.known.Tables {
		for _, flag := range append([]string{"-" + name}, beforeLists[name]...) {
			if def, ok := t.Lookup(flag); ok && strings.HasPrefix(def.Name, "--") {
				return argOf(def.Name)
			}
		}
	}
	return ""
}

// nearest returns the flag that a misspelt one most likely means, "" if none is near.
func (l Lists) nearest(flag string) string {
	best, least := "", max(3, (len(flag)-2)/3)
	for _, t := range l.known.Tables {
		for _, name := range t.Names() {
			d := levenshtein.Distance(flag, name, nil)
			if d < least || d == least && best != "" && name < best {
				best, least = name, d
			}
		}
	}
	return best
}

// argOf returns a flag in the spelling of files.
func argOf(flag string) string {
	return strings.ReplaceAll(strings.TrimLeft(flag, "-"), "-", "_")
}

// checkValue returns an error for an invalid value of a flag; nil if the value is not known yet.
func checkValue(def flags.Def, v cty.Value) error {
	if !v.IsWhollyKnown() {
		return nil
	}
	ty := v.Type()
	switch def.Kind {
	case flags.Switch, flags.OnOff, flags.Off, flags.StoreBool:
		if ty != cty.Bool {
			return fmt.Errorf("is switched by true or false, not by %s", describe(v))
		}
		return nil
	case flags.List:
		if ty == cty.Bool || ty.IsObjectType() || ty.IsMapType() {
			return fmt.Errorf("takes a list, not %s", describe(v))
		}
		return nil
	case flags.JSON:
		if ty == cty.Bool || ty == cty.Number {
			return fmt.Errorf("takes an object or a list, not %s", describe(v))
		}
		return nil
	case flags.Optional:
		if ty == cty.Bool {
			return nil
		}
	case flags.Options:
		if !ty.IsObjectType() && !ty.IsMapType() {
			return fmt.Errorf(`takes an object, which is written into the file: yamldecode(file("NAME")) reads one`)
		}
		return nil
	}
	switch {
	case ty == cty.Bool:
		return fmt.Errorf("takes a value, not %s", describe(v))
	case ty.IsTupleType() || ty.IsListType() || ty.IsSetType():
		return fmt.Errorf("takes one value, not a list")
	case (ty.IsObjectType() || ty.IsMapType()) && def.Kind != flags.Text && def.Kind != flags.Optional:
		return fmt.Errorf("takes one value, not an object")
	case ty == cty.Number || ty == cty.String:
		return checkScalar(def, v)
	}
	return nil
}

func checkScalar(def flags.Def, v cty.Value) error {
	text, err := steps.Object{Attrs: map[string]cty.Value{"v": v}}.Texts("v")
	if err != nil || len(text) != 1 || text[0] == "None" || text[0] == "" {
		return nil // engines write None for an unset option
	}
	switch def.Kind {
	case flags.Int:
		if !isWhole(text[0]) {
			return fmt.Errorf("takes a whole number, not %q", text[0])
		}
	case flags.Float:
		if !isNumber(text[0]) {
			return fmt.Errorf("takes a number, not %q", text[0])
		}
	case flags.Size:
		if number := strings.TrimRight(text[0], "kmgtKMGT"); text[0] != "auto" && (len(text[0])-len(number) > 1 || !isNumber(number)) {
			return fmt.Errorf("takes a whole number, which may end in k or M, not %q", text[0])
		}
	case flags.Choice:
		if !slices.Contains(def.Choices, text[0]) {
			return fmt.Errorf("is %q; it must be one of %s", text[0], strings.Join(def.Choices, ", "))
		}
	}
	return nil
}

func isWhole(text string) bool  { _, err := strconv.ParseInt(text, 10, 64); return err == nil }
func isNumber(text string) bool { _, err := strconv.ParseFloat(text, 64); return err == nil }

func describe(v cty.Value) string {
	switch {
	case v.Type() == cty.Bool && v.True():
		return "true"
	case v.Type() == cty.Bool:
		return "false"
	case v.Type() == cty.String:
		return fmt.Sprintf("the string %q", v.AsString())
	case v.Type() == cty.Number:
		return "the number " + steps.NumberText(v.AsBigFloat())
	case v.Type().IsObjectType() || v.Type().IsMapType():
		return "an object"
	}
	return "a list"
}
