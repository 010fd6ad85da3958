package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
)

// traits holds the values from which a target is launched, by their path in the file: "image",
// "args.max_num_seqs", "prefill.env.CUDA_VISIBLE_DEVICES".
type traits map[string]trait

// trait is one value. A secret is compared, but not shown.
type trait struct {
	text   string
	secret string
}

// cosmetic lists the fields that change where and how patiently a server is asked, but not the server itself.
var cosmetic = []string{"Addr", "Name", "Folder", "Port", "MetricsPort", "Listen", "Ready", "StopGrace", "ServedName", "APIKey", "Labels"}

// traits returns the values from which a target is launched, by name, and whether some of them are known only
// after steps.
func (b *builder) traits(addr string) (out traits, late bool) {
	out = traits{}
	if s := b.cfg.ServerAt(addr); s != nil {
		out.add("", reflect.ValueOf(s.Spec))
		late = s.Late
	} else if d := b.cfg.DeploymentAt(addr); d != nil {
		out.add("", reflect.ValueOf(d.Spec))
		late = d.Late
	} else {
		out["target"] = trait{text: addr}
	}
	b.leaveOut(out)
	return out, late
}

// madeOf describes the parts of a target.
func (b *builder) madeOf(addr string) string {
	if d := b.cfg.DeploymentAt(addr); d != nil {
		return deploymentSource(d.Spec)
	}
	return "one server"
}

// leaveOut removes traits that do not affect this run.
func (b *builder) leaveOut(t traits) {
	for name, trait := range t { // the container's image is the server's
		if image, inContainer := strings.CutSuffix(name, "container.image"); inContainer && t[image+"image"] == trait {
			delete(t, name)
		}
	}
	if b.opt.Simulated != "" || b.opt.AnySimulation {
		return
	}
	for name := range t {
		if strings.HasPrefix(name, "simulate.") || strings.Contains(name, ".simulate.") {
			delete(t, name)
		}
	}
}

// traitNames returns the names of both sides, sorted. Names that define the server come first.
func traitNames(a, b traits) []string {
	names := map[string]bool{}
	for _, t := range []traits{a, b} {
		for name := range t {
			names[name] = true
		}
	}
	first := []string{"image", "executable", "url", "version", "model"}
	rank := func(name string) int {
		if i := slices.Index(first, name); i >= 0 {
			return i
		}
		return len(first)
	}
	return slices.SortedFunc(maps.Keys(names), func(x, y string) int {
		if c := rank(x) - rank(y); c != 0 {
			return c
		}
		return strings.Compare(x, y)
	})
}

// summary returns the parts, images, executables and models of a target in place of all its values.
func (t traits) summary(parts string) traits {
	out := traits{"made of": {text: parts}}
	for _, what := range []string{"image", "executable", "model"} {
		var values []string
		for _, name := range slices.Sorted(maps.Keys(t)) {
			if v := t[name].text; (name == what || strings.HasSuffix(name, "."+what)) && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		out.leaf(what, strings.Join(values, ", "))
	}
	return out
}

// add stores a value under a name, and its members under names below it.
func (t traits) add(name string, v reflect.Value) {
	switch x := v.Interface().(type) {
	case time.Duration:
		t.leaf(name, x.String())
	case steps.ServerSpec:
		t.settings(join(name, "args"), x)
		x.Args = nil
		t.addMembers(name, reflect.ValueOf(x))
	case []steps.Arg: // of a service
		t.settings(name, steps.ServerSpec{Args: x})
	case []steps.EnvVar:
		for _, e := range x {
			if e.Secret {
				t[join(name, e.Name)] = trait{text: "(secret)", secret: e.Value}
			} else {
				t[join(name, e.Name)] = trait{text: e.Value}
			}
		}
	case []steps.Cache: // the place of a side's own cache is not a difference
		for _, c := range x {
			t.leaf(join(name, c.Use()), "kept")
		}
	case []steps.Member:
		for _, m := range x {
			t.leaf(join(m.Name, "role"), m.Role)
			t.add(m.Name, reflect.ValueOf(m.Spec))
		}
	case []steps.ServiceSpec:
		for _, s := range x {
			t.add(s.Name, reflect.ValueOf(s))
		}
	default:
		t.addMembers(name, v)
	}
}

// addMembers stores the members of a structure or map; other values are stored as their text, unless they are zero.
func (t traits) addMembers(name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			t.add(name, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() && !slices.Contains(cosmetic, f.Name) {
				t.add(join(name, snake(f.Name)), v.Field(i))
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			t.add(join(name, fmt.Sprint(key)), v.MapIndex(key))
		}
	case reflect.Slice:
		var parts []string
		for i := range v.Len() {
			parts = append(parts, fmt.Sprintf("%v", v.Index(i).Interface()))
		}
		t.leaf(name, strings.Join(parts, " "))
	default:
		if !v.IsZero() {
			t.leaf(name, fmt.Sprint(v.Interface()))
		}
	}
}

// settings stores the arguments of a server in their normal form.
func (t traits) settings(name string, spec steps.ServerSpec) {
	for arg, text := range argument.SettingsOf(spec) {
		t.leaf(join(name, arg), text)
	}
}

func (t traits) leaf(name, text string) {
	if text != "" {
		t[name] = trait{text: text}
	}
}

func join(name, more string) string {
	if name == "" {
		return more
	}
	return name + "." + more
}

// snake writes a field's name as the file does: ShmSize → shm_size, GPUs → gpus, URL → url.
func snake(name string) string {
	if name == "GPUs" || strings.ToUpper(name) == name {
		return strings.ToLower(name)
	}
	var out strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(rune(name[i-1])) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}
