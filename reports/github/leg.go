package github

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/escape"
)

// NewLeg reads the `matrix` context of a job in JSON, "" or "null" for none.
func NewLeg(job, matrix string) (Leg, error) {
	l := Leg{Job: job}
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

// legID identifies a leg, "" for the only one.
func legID(l Leg) string {
	if l.Job == "" && l.Matrix == "" {
		return ""
	}
	return digest("leg", l.Job, l.Matrix)
}

// legNamed appends the leg of a matrix to a name that several legs share. A name that already
// contains the values of the matrix stays.
func legNamed(l Leg, name string) string {
	if name == "" || l.Matrix == "" {
		return name
	}
	if slices.ContainsFunc(l.Values, func(v string) bool { return !strings.Contains(name, v) }) {
		return escape.Text(name+" ("+l.Matrix+")", maxTitle)
	}
	return name
}
