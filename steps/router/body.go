package router

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/servegate/pipeline/steps/jsonscan"
)

// object is a JSON object of which only the top level was looked at. What is inside a value
// stays as the bytes that came: numbers keep their digits, unknown fields their spelling.
type object struct {
	fields []field
}

// field is a member of the object; its raw name is spelt as it was written.
type field struct {
	key        string
	raw, value []byte
}

// edit replaces a field, or adds it at the end.
type edit struct {
	key       string
	value     []byte
	remove    bool
	ifPresent bool // do not add it
}

var errNotObject = errors.New("the body must be a JSON object")

// parseObject cuts a JSON object into its fields. It does not judge what is inside of
// values beyond brackets and strings that end; the servers do.
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

// get returns the value of a field, nil if there is none. Of several the last one holds,
// as in the engines' parsers.
func (o object) get(key string) []byte {
	for _, f := range slices.Backward(o.fields) {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// edit writes the object with the edits applied. Fields of an edited name go, however
// often they occur, and the new value stands at the end.
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

// maxBatch bounds the prompts of one request; each costs a room of its own.
const maxBatch = 1 << 16

// batch reports whether the prompt is a list of prompts, and of how many. A list of numbers
// is one prompt as token ids.
func (o object) batch() (n int, batch bool, err error) {
	for _, key := range []string{"text", "input_ids", "prompt"} {
		value := o.get(key)
		if len(value) == 0 || bytes.Equal(value, nullJSON) {
			continue
		}
		list := jsonscan.Of(value)
		for range list.Array {
			if first := list.Peek(); n == 0 && first != '"' && first != '[' {
				return 0, false, nil // of a long list of numbers no more is looked at
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

// toJSON writes what can always be written.
func toJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("router: " + err.Error())
	}
	return b
}
