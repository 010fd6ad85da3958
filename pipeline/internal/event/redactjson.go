package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"unicode/utf8"
)

// JSON masks the secrets in the strings of a JSON text only. A secret with brackets or quotes does
// not break the text, and one of digits does not change a number.
func (r *Redactor) JSON(text []byte) []byte {
	if r == nil {
		return text
	}
	var out []byte
	done := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		end := endOfString(text, i)
		if masked, ok := r.literal(text[i:end]); ok {
			out = append(append(out, text[done:i]...), masked...)
			done = end
		}
		i = end - 1
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

// endOfString returns the end of the string that begins at i.
func endOfString(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// literal masks a string with its quotes. It reports whether there was anything to mask.
func (r *Redactor) literal(quoted []byte) (masked []byte, changed bool) {
	text, ok := unescaped(quoted)
	if !ok {
		var s string
		if err := json.Unmarshal(quoted, &s); err != nil {
			return r.Bytes(quoted), true // not JSON: no structure to preserve
		}
		text = []byte(s)
	}
	clean, changed := r.masked(text)
	if !changed {
		return nil, false
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(string(clean)); err != nil {
		return []byte(`"` + Mask + `"`), true // unreachable: a string always encodes
	}
	return bytes.TrimRight(b.Bytes(), "\n"), true
}

// unescaped returns the text of a string that has no escapes.
func unescaped(quoted []byte) (text []byte, ok bool) {
	if len(quoted) < 2 || quoted[len(quoted)-1] != '"' {
		return nil, false
	}
	text = quoted[1 : len(quoted)-1]
	for _, c := range text {
		if c < ' ' || c == '\\' || c >= utf8.RuneSelf {
			return nil, false
		}
	}
	return text, true
}

// Value masks the secrets in every text that v points to: fields, elements, keys and values of
// maps. It is for documents that are rendered later, in forms that this package does not know.
// Texts of named types (enumerations) stay.
func (r *Redactor) Value(v any) {
	if r == nil {
		return
	}
	m := valueMasker{r, map[string]bool{}}
	m.value(reflect.ValueOf(v))
}

// valueMasker masks a value. The names of figures, which return in each run of a document, are searched once.
type valueMasker struct {
	*Redactor
	clean map[string]bool
}

func (r valueMasker) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			r.value(v.Elem())
		}
	case reflect.String:
		if v.CanSet() && v.Type() == reflect.TypeFor[string]() {
			v.SetString(r.String(v.String()))
		}
	case reflect.Slice:
		for i := range v.Len() {
			r.value(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				r.value(v.Field(i))
			}
		}
	case reflect.Map:
		r.entries(v)
	case reflect.Interface:
		if text, ok := reflect.TypeAssert[string](v); ok && v.CanSet() {
			v.Set(reflect.ValueOf(r.String(text)))
		}
	}
}

// entries masks a map, whose entries cannot be changed in place.
func (r valueMasker) entries(m reflect.Value) {
	if figures, ok := reflect.TypeAssert[map[string]float64](m); ok {
		r.figures(figures)
		return
	}
	for _, key := range m.MapKeys() {
		k, value := reflect.New(key.Type()).Elem(), reflect.New(m.Type().Elem()).Elem()
		k.Set(key)
		value.Set(m.MapIndex(key))
		r.value(k)
		r.value(value)
		m.SetMapIndex(key, reflect.Value{})
		m.SetMapIndex(k, value)
	}
}

// figures masks the names of figures. Two names that are alike once masked stay apart.
func (r valueMasker) figures(m map[string]float64) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if r.clean[name] {
			continue
		}
		masked := r.String(name)
		if masked == name {
			r.clean[name] = true
			continue
		}
		x := m[name]
		delete(m, name)
		free := masked
		for n := 2; ; n++ {
			if _, taken := m[free]; !taken {
				break
			}
			free = fmt.Sprintf("%s %d", masked, n)
		}
		m[free] = x
	}
}
