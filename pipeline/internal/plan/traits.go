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
)

// traits are the values that a target is launched from, by their path in the file:
// "image", "args.max_num_seqs", "prefill.env.CUDA_VISIBLE_DEVICES".
type traits map[string]trait

// trait is one value. A secret is compared, and not shown.
type trait struct {
	text   string
	secret string
}

// cosmetic are the fields that change where and how patiently a server is asked, and nothing
// about what it is.
var cosmetic = []string{"Addr", "Name", "Port", "MetricsPort", "Listen", "Ready", "StopGrace", "ServedName", "APIKey", "Labels"}

// traitNames are the names of both sides, sorted; what a server is comes first.
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

// summary is what a target is made of, in place of all its values: parts, images and models.
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

// add collects a value under a name: members of structures, lists and maps by theirs.
func (t traits) add(name string, v reflect.Value) {
	switch x := v.Interface().(type) {
	case time.Duration:
		t.leaf(name, x.String())
		return
	case []steps.Arg:
		for _, a := range x {
			t.leaf(join(name, a.Name), fmt.Sprint(a.Value))
		}
		return
	case []steps.EnvVar:
		for _, e := range x {
			t.env(join(name, e.Name), e)
		}
		return
	case []steps.Member:
		for _, m := range x {
			t.leaf(join(m.Name, "role"), m.Role)
			t.add(m.Name, reflect.ValueOf(m.Spec))
		}
		return
	case []steps.ServiceSpec:
		for _, s := range x {
			t.add(s.Name, reflect.ValueOf(s))
		}
		return
	}
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

func (t traits) leaf(name, text string) {
	if text != "" {
		t[name] = trait{text: text}
	}
}

func (t traits) env(name string, e steps.EnvVar) {
	if e.Secret {
		t[name] = trait{text: "(secret)", secret: e.Value}
		return
	}
	t[name] = trait{text: e.Value}
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
