package note

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/publish"
)

// NewLeg reads the `matrix` context of a GitHub job in JSON, "" or "null" for none.
func NewLeg(job, matrix string) (publish.Leg, error) {
	l := publish.Leg{Job: job}
	if strings.TrimSpace(matrix) == "" {
		return l, nil
	}
	var values map[string]any
	if err := json.Unmarshal([]byte(matrix), &values); err != nil {
		return l, fmt.Errorf("the matrix of the job must be a JSON object: %w", err)
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text, ok := values[name].(string)
		if !ok {
			encoded, err := json.Marshal(values[name])
			if err != nil {
				return l, err
			}
			text = string(encoded)
		}
		parts = append(parts, name+"="+text)
		l.Values = append(l.Values, text)
	}
	l.Matrix = strings.Join(parts, " ")
	return l, nil
}

// LegID identifies a leg, "" for the only one.
func LegID(l publish.Leg) string {
	if l.Job == "" && l.Matrix == "" {
		return ""
	}
	return Digest("leg", l.Job, l.Matrix)
}

// maxName is the largest number of characters of the name of a leg.
const maxName = 200

// LegNamed appends the leg of a matrix to a name that several legs share. A name that already
// contains the values of the matrix stays.
func LegNamed(l publish.Leg, name string) string {
	if name == "" || l.Matrix == "" {
		return name
	}
	if slices.ContainsFunc(l.Values, func(v string) bool { return !strings.Contains(name, v) }) {
		return escape.Text(name+" ("+l.Matrix+")", maxName)
	}
	return name
}
