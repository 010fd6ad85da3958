package request

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// checkPointer says what is wrong with a JSON pointer (RFC 6901).
func checkPointer(p string) error {
	if p != "" && !strings.HasPrefix(p, "/") {
		return fmt.Errorf("the JSON pointer %q must begin with a slash", p)
	}
	for i := 0; i < len(p); i++ {
		if p[i] == '~' && (i+1 == len(p) || p[i+1] != '0' && p[i+1] != '1') {
			return fmt.Errorf("the JSON pointer %q has a ~ that is neither ~0 nor ~1", p)
		}
	}
	return nil
}

// lookup returns the value that a JSON pointer leads to as text: strings as they are,
// anything else as compact JSON.
func lookup(doc any, pointer string) (string, error) {
	if err := checkPointer(pointer); err != nil {
		return "", err
	}
	v := doc
	if pointer != "" {
		for token := range strings.SplitSeq(pointer[1:], "/") {
			token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
			next, ok := descend(v, token)
			if !ok {
				return "", fmt.Errorf("the answer has nothing at %s", pointer)
			}
			v = next
		}
	}
	return valueText(v)
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

func valueText(v any) (string, error) {
	if s, ok := v.(string); ok {
		return s, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return string(data), nil
}

// decode reads one JSON document, numbers as they are written.
func decode(body []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("the answer is not JSON: %w", err)
	}
	return doc, nil
}
