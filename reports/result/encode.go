package result

import (
	"fmt"
	"io"
	"math"
	"reflect"

	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/servegate/pipeline/reports/internal/members"
)

// Encode writes doc as indented JSON: one line for each run, and one for each short, flat object.
// It buffers only a part of the text. Equal documents give equal bytes: fields are in the order of
// the types and maps are sorted by key. Required lists that are nil in doc become empty ones. For a
// value that JSON cannot represent (NaN, an infinity) it returns an error with the path, and writes
// nothing.
func Encode(w io.Writer, doc *Document) error {
	if path, ok := nonFinite(reflect.ValueOf(doc)); ok {
		return fmt.Errorf("encode result: %s is not a finite number: leave a metric without data out of its map", path)
	}
	Complete(doc)
	lines := newLayout(w)
	// The first version of encoding/json would hold several copies of all of its output.
	if err := json.MarshalWrite(lines, doc, jsonv1.DefaultOptionsV1()); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	if err := lines.close(); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// Complete makes the required lists of doc that are nil empty, as Encode does. A document that is complete can be encoded
// while it is read elsewhere.
func Complete(doc *Document) { fillLists(reflect.ValueOf(doc).Elem()) }

// nonFinite finds a NaN or an infinity in v and returns the path to it.
func nonFinite(v reflect.Value) (path string, found bool) {
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		return "", math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0)
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return nonFinite(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			path, found := nonFinite(v.Field(i))
			if field := v.Type().Field(i); found && !field.Anonymous {
				path = "." + field.Name + path
			}
			if found {
				return path, true
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if path, found := nonFinite(v.Index(i)); found {
				return fmt.Sprintf("[%d]%s", i, path), true
			}
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			if path, found := nonFinite(v.MapIndex(k)); found {
				return fmt.Sprintf("[%v]%s", k, path), true
			}
		}
	}
	return "", false
}

// fillLists makes nil lists that are not optional empty, so that null is never written.
func fillLists(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			fillLists(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			fillLists(v.Index(i))
		}
	case reflect.Struct:
		for _, f := range members.Of(v.Type()) {
			field := v.FieldByIndex(f.Index)
			if field.Kind() == reflect.Slice && field.IsNil() && !f.Optional {
				field.Set(reflect.MakeSlice(field.Type(), 0, 0))
			}
			fillLists(field)
		}
	}
}
