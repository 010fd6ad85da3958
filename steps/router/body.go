package router

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// object is a JSON object of which only the top level was looked at. What is inside a value
// stays as the bytes that came: numbers keep their digits, unknown fields their spelling.
type object struct {
	fields []field
}

// field is a member of the object: raw is `"key": value` as it was written.
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
	i := space(b, 0)
	if i == len(b) || b[i] != '{' {
		return o, errNotObject
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return o, atEnd(b, i+1)
	}
	for {
		f, next, err := parseField(b, i)
		if err != nil {
			return object{}, err
		}
		o.fields = append(o.fields, f)
		i = space(b, next)
		switch {
		case i < len(b) && b[i] == ',':
			i = space(b, i+1)
		case i < len(b) && b[i] == '}':
			return o, atEnd(b, i+1)
		default:
			return object{}, errNotObject
		}
	}
}

// parseField reads `"key": value` at i.
func parseField(b []byte, i int) (field, int, error) {
	start := i
	if i == len(b) || b[i] != '"' {
		return field{}, 0, errNotObject
	}
	end, ok := skipString(b, i)
	if !ok {
		return field{}, 0, errNotObject
	}
	key, err := unquote(b[i:end])
	if err != nil {
		return field{}, 0, errNotObject
	}
	i = space(b, end)
	if i == len(b) || b[i] != ':' {
		return field{}, 0, errNotObject
	}
	i = space(b, i+1)
	end, ok = skipValue(b, i)
	if !ok {
		return field{}, 0, errNotObject
	}
	return field{key: key, raw: b[start:end], value: b[i:end]}, end, nil
}

func atEnd(b []byte, i int) error {
	if space(b, i) != len(b) {
		return errNotObject
	}
	return nil
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
		size += len(f.raw) + 1
	}
	for _, e := range edits {
		size += len(e.key) + len(e.value) + 4
	}
	b := append(make([]byte, 0, size), '{')
	for _, f := range o.fields {
		if !named(edits, f.key) {
			b = append(comma(b), f.raw...)
		}
	}
	for _, e := range edits {
		if e.remove || e.ifPresent && o.get(e.key) == nil {
			continue
		}
		b = append(comma(b), quote(e.key)...)
		b = append(append(b, ':'), e.value...)
	}
	return append(b, '}')
}

func comma(b []byte) []byte {
	if len(b) > 1 {
		return append(b, ',')
	}
	return b
}

func named(edits []edit, key string) bool {
	for _, e := range edits {
		if e.key == key {
			return true
		}
	}
	return false
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
		if value[0] != '[' {
			return 0, false, nil
		}
		n, batch, ok := elements(value)
		if !ok {
			return 0, false, errors.New("the list in " + key + " is not valid JSON")
		}
		if batch && n > maxBatch {
			return 0, false, errors.New("the list in " + key + " has too many prompts; send fewer at a time")
		}
		return n, batch, nil
	}
	return 0, false, nil
}

// elements counts the elements of an array; lists means that the first is a string or a
// list. Of numbers it counts none: a long prompt is not worth the time.
func elements(b []byte) (n int, lists, ok bool) {
	i := space(b, 1)
	if i == len(b) || b[i] != '"' && b[i] != '[' {
		return 0, false, i < len(b)
	}
	for {
		end, valid := skipValue(b, i)
		if !valid {
			return 0, false, false
		}
		n++
		i = space(b, end)
		switch {
		case i < len(b) && b[i] == ',':
			i = space(b, i+1)
		case i == len(b)-1 && b[i] == ']':
			return n, true, true
		default:
			return 0, false, false
		}
	}
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the end of the value at i.
func skipValue(b []byte, i int) (int, bool) {
	if i >= len(b) {
		return 0, false
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	start := i
	for i < len(b) && bytes.IndexByte(literalEnd, b[i]) < 0 {
		i++
	}
	return i, i > start
}

// literalEnd holds what ends a number or a word.
var literalEnd = []byte(" \t\r\n,:]}[{\"")

// skipNested returns the end of an object or array, without recursion.
func skipNested(b []byte, i int) (int, bool) {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			end, ok := skipString(b, i)
			if !ok {
				return 0, false
			}
			i = end
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1, true
			}
		}
		i++
	}
	return 0, false
}

// skipString returns the end of the string that begins at i.
func skipString(b []byte, i int) (int, bool) {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1, true
		case '\\':
			i++
		}
	}
	return 0, false
}

func unquote(raw []byte) (string, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

// quote writes s as a JSON string.
func quote(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		return []byte(`""`) // a string is always written
	}
	return b
}
