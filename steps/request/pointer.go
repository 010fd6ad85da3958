package request

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// checkPointer validates a JSON pointer (RFC 6901).
func checkPointer(p string) error {
	if !jsontext.Pointer(p).IsValid() {
		return fmt.Errorf("%q is not a JSON pointer; write it like /data/0/id, with ~1 for a slash and ~0 for a ~", p)
	}
	return nil
}

// lookup returns the value at a JSON pointer as text: strings unquoted, anything else as compact JSON.
func lookup(doc any, pointer string) (string, error) {
	if err := checkPointer(pointer); err != nil {
		return "", err
	}
	for token := range jsontext.Pointer(pointer).Tokens() {
		var ok bool
		if doc, ok = descend(doc, token); !ok {
			return "", fmt.Errorf("the answer has nothing at %s", pointer)
		}
	}
	if s, ok := doc.(string); ok {
		return s, nil
	}
	data, err := json.Marshal(doc)
	return string(data), err
}

func descend(v any, token string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		next, ok := v[token]
		return next, ok
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(v) || strconv.Itoa(i) != token {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}

// decode reads one JSON document and keeps numbers as written.
func decode(body []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("the answer is not JSON: %w", err)
	}
	return doc, nil
}
