package router

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/servegate/pipeline/steps/jsonscan"
)

// object is a JSON object of which only the top level is parsed. The bytes of values are left unchanged:
// numbers keep their digits, unknown fields their spelling.
type object struct {
	fields []field
}

// field is a member of the object; raw holds its name as written.
type field struct {
	key        string
	raw, value []byte
}

// edit replaces a field, or adds it at the end.
type edit struct {
	key       string
	value     []byte
	remove    bool
	ifPresent bool // do not add the field
}

var errNotObject = errors.New("the body must be a JSON object")

// parseObject splits a JSON object into its fields. Within values it checks only that brackets and strings
// are closed; the servers check the rest.
func parseObject(b []byte) (object, error) {
	var o object
	s := jsonscan.Of(b)
	if s.Peek() != '{' {
		return o, errNotObject
	}
	for name := range s.Object {
		f := field{key: string(name), raw: name, value: s.Skip()}
		if bytes.IndexByte(name, '\\') >= 0 && json.Unmarshal(slices.Concat([]byte{'"'}, name, []byte{'"'}), &f.key) != nil {
			return object{}, errNotObject
		}
		o.fields = append(o.fields, f)
	}
	if !s.Done() {
		return object{}, errNotObject
	}
	return o, nil
}

// get returns the value of a field, or nil if it is absent. Of duplicates it returns the last, as the
// engines' parsers do.
func (o object) get(key string) []byte {
	for _, f := range slices.Backward(o.fields) {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// edit returns the object with the edits applied. It removes all fields of an edited name and appends the new
// value.
func (o object) edit(edits ...edit) []byte {
	size := 2
	for _, f := range o.fields {
		size += len(f.raw) + len(f.value) + 4
	}
	for _, e := range edits {
		size += len(e.key) + len(e.value) + 4
	}
	b := append(make([]byte, 0, size), '{')
	for _, f := range o.fields {
		if !slices.ContainsFunc(edits, func(e edit) bool { return e.key == f.key }) {
			b = append(append(append(comma(b), '"'), f.raw...), '"', ':')
			b = append(b, f.value...)
		}
	}
	for _, e := range edits {
		if e.remove || e.ifPresent && o.get(e.key) == nil {
			continue
		}
		b = append(append(comma(b), toJSON(e.key)...), ':')
		b = append(b, e.value...)
	}
	return append(b, '}')
}

func comma(b []byte) []byte {
	if len(b) > 1 {
		return append(b, ',')
	}
	return b
}

// maxBatch limits the prompts of one request; each needs a separate room.
const maxBatch = 1 << 16

// batch reports whether the prompt is a list of prompts, and their number. A list of numbers is one prompt as
// token IDs.
func (o object) batch() (n int, batch bool, err error) {
	for _, key := range []string{"text", "input_ids", "prompt"} {
		value := o.get(key)
		if len(value) == 0 || bytes.Equal(value, nullJSON) {
			continue
		}
		list := jsonscan.Of(value)
		for range list.Array {
			if first := list.Peek(); n == 0 && first != '"' && first != '[' {
				return 0, false, nil // the rest of a long list of numbers is skipped
			}
			list.Skip()
			n++
		}
		switch {
		case !list.Done():
			return 0, false, errors.New("the list in " + key + " is not valid JSON")
		case n > maxBatch:
			return 0, false, errors.New("the list in " + key + " has too many prompts; send fewer at a time")
		}
		return n, n > 0, nil
	}
	return 0, false, nil
}

// toJSON marshals a value whose encoding cannot fail.
func toJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("router: " + err.Error())
	}
	return b
}
