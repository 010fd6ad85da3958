package adopt

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/hclfile"
	engineargs "github.com/servegate/pipeline/steps/engine/argument"
	"github.com/servegate/pipeline/steps/engine/flags"
)

// argv reads flags from words.
type argv struct {
	engine *engine
	known  flags.Known
	rest   []string
}

// definition returns what is known of a flag.
func (a argv) definition(flag string) (flags.Def, bool) {
	head, _, _ := strings.Cut(flag, ".")
	defs := a.known.Complete(head)
	if len(defs) == 0 {
		defs = flags.All(a.engine.kind).Lookup(head)
	}
	if len(defs) == 0 || defs[0].Name != defs[len(defs)-1].Name {
		return flags.Def{}, false
	}
	return defs[0], true
}

// full returns the name that a flag of args has in full.
func (a argv) full(name string) string {
	if def, ok := a.definition(engineargs.FlagName(name)); ok {
		return argument(def.Name)
	}
	return name
}

// flagWord matches a word that argparse takes for a flag: negative numbers are values.
var flagWord = lazyregexp.New(`^-(-[A-Za-z]|[A-Za-z])`)

// next reads a flag with its value, or a word without a flag, which has the name "". literal quotes the words for a
// message.
func (a *argv) next() (name string, value any, literal string) {
	word := a.rest[0]
	a.rest = a.rest[1:]
	if !flagWord.MatchString(word) {
		return "", word, shown(word)
	}
	flag, inline, hasInline := strings.Cut(word, "=")
	def, known := a.definition(strings.ReplaceAll(flag, "_", "-"))
	if level, ok := strings.CutPrefix(flag, "-O"); ok && a.engine.kind == "vllm" && level != "" {
		flag, inline, hasInline = a.optimization(level, inline, hasInline)
		def, known = a.definition(flag)
	}
	name = a.name(flag, def, known)
	values := []string{inline}
	if !hasInline {
		values = a.values(def, known)
	}
	literal = command{words: append([]string{flag}, values...)}.text()
	return name, typed(def, known, name, values), literal
}

// optimization returns the flag that -O3, -O.KEY=VALUE and -O.KEY VALUE are short for.
func (a argv) optimization(level, inline string, has bool) (flag, value string, hasValue bool) {
	_, named := a.definition("--optimization-level")
	switch {
	case level[0] == '.':
		return "--compilation-config" + level, inline, has
	case named:
		return "--optimization-level", level, true
	}
	return "--compilation-config", `{"level":` + level + `}`, true
}

// name returns the name of a flag in args: as it is written, in full if it is short.
func (a argv) name(flag string, def flags.Def, known bool) string {
	_, key, dotted := strings.Cut(flag, ".")
	head, _, _ := strings.Cut(argument(flag), ".")
	exact := slices.Contains(def.Names, engineargs.FlagName(head))
	if known && !exact && def.Kind != flags.Off {
		head = argument(def.Name)
	}
	if known && def.Kind == flags.Off && head == "no_"+argument(def.Name) {
		head = argument(def.Name)
	}
	if dotted {
		head += "." + key
	}
	return head
}

// values takes the words that belong to a flag.
func (a *argv) values(def flags.Def, known bool) []string {
	n := 0
	for n < len(a.rest) && !flagWord.MatchString(a.rest[n]) {
		n++
	}
	switch {
	case known && (def.Kind == flags.Switch || def.Kind == flags.OnOff || def.Kind == flags.Off):
		n = 0
	case known && def.Kind == flags.StoreBool && n > 0 && !isBool(a.rest[0]):
		n = 0
	case known && def.Kind == flags.List:
	default:
		n = min(n, 1)
	}
	if known && n == 0 && len(a.rest) > 0 && takesOne(def.Kind) && !strings.HasPrefix(a.rest[0], "--") && !a.isNext(def) {
		n = 1
	}
	values := a.rest[:n]
	a.rest = a.rest[n:]
	return values
}

// isNext reports whether the next word is another flag and not one of the choices of this one, which older releases have without a
// value: "-fa -ub 1024".
func (a *argv) isNext(def flags.Def) bool {
	_, known := a.definition(a.rest[0])
	return known && def.Kind == flags.Choice && !slices.Contains(def.Choices, a.rest[0])
}

func isBool(text string) bool { t := strings.ToLower(text); return t == "true" || t == "false" }

func takesOne(k flags.Kind) bool {
	return slices.Contains([]flags.Kind{flags.Text, flags.Int, flags.Float, flags.Size, flags.JSON, flags.Choice}, k)
}

// typed returns the value of a flag as a pipeline file has it, so that it is rendered as the words were.
func typed(def flags.Def, known bool, name string, values []string) any {
	switch {
	case known && def.Kind == flags.Off:
		return strings.HasPrefix(name, "no_")
	case known && def.Kind == flags.StoreBool && len(values) == 1:
		return strings.EqualFold(values[0], "true")
	case len(values) == 0:
		return true
	case known && def.Kind == flags.List:
		list := make([]any, len(values))
		for i, v := range values {
			list[i] = number(v)
		}
		return list
	case len(values) > 1:
		return strings.Join(values, " ")
	}
	if v, ok := object(values[0]); ok {
		return v
	}
	if known && def.Kind == flags.Float && json.Valid([]byte(values[0])) {
		return json.Number(values[0]) // 0.90 is rendered as 0.9
	}
	return number(values[0])
}

// object decodes a JSON object, or a list of JSON, that a flag takes.
func object(text string) (any, bool) {
	if t := strings.TrimSpace(text); t == "" || t[0] != '{' && t[0] != '[' {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	v, err := decodeJSON(d, 0)
	if err != nil || d.More() {
		return nil, false
	}
	return v, true
}

// number returns a number if a pipeline file renders it with the same digits, and else the text.
func number(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(n, 10) == text {
		return json.Number(text)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && strconv.FormatFloat(f, 'f', -1, 64) == text {
		return json.Number(text)
	}
	return text
}

// release returns the newest release that has all arguments which some release has, "" if that is the newest of all: a
// rehearsal then parses them, and a server of another release is only warned of.
func (a argv) release(args hclfile.Map) string {
	all := flags.All(a.engine.kind)
	known := slices.DeleteFunc(slices.Clone(args), func(p hclfile.Pair) bool { return len(all.Lookup(flagOfArgument(p.Name))) == 0 })
	for i, t := range slices.Backward(all.Tables) { // the newest first
		lacks := func(p hclfile.Pair) bool { return len(t.Complete(flagOfArgument(p.Name))) == 0 }
		switch {
		case slices.ContainsFunc(known, lacks):
		case i == len(all.Tables)-1:
			return ""
		default:
			return t.Version
		}
	}
	return ""
}

// flagOfArgument returns the flag of an argument of args, without the part behind a dot.
func flagOfArgument(name string) string {
	head, _, _ := strings.Cut(name, ".")
	return "--" + strings.ReplaceAll(head, "_", "-")
}
