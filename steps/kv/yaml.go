package kv

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// yaml writes settings one a line, sorted. Values are written as JSON, which is YAML.
func yaml(settings map[string]any) []byte {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		key, _ := json.Marshal(name)
		if plainKey(name) {
			key = []byte(name)
		}
		value, err := json.Marshal(settings[name])
		if err != nil { // not from a pipeline file, whose values are plain
			value = []byte("null")
		}
		fmt.Fprintf(&b, "%s: %s\n", key, value)
	}
	return []byte(b.String())
}

// plainKey reports whether a name needs no quotes as a key of YAML.
func plainKey(name string) bool {
	for _, r := range name {
		if (r < 'a' || r > 'z') && r != '_' {
			return false
		}
	}
	return name != "" && !slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, name)
}
