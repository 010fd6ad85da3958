package github

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/escape"
)

// Leg is the job that reports: one of several of a workflow run that may report on the same
// file, most often the legs of a matrix. The zero value is the only one.
type Leg struct {
	Job string
	// Matrix is "gpu=h100 tp=2", "" for a job without one.
	Matrix string
	values []string
}

// NewLeg reads the context `matrix` of a job as the runner writes it in JSON, "" or "null"
// for none.
func NewLeg(job, matrix string) (Leg, error) {
	l := Leg{Job: job}
	if strings.TrimSpace(matrix) == "" {
		return l, nil
	}
	var values map[string]any
	if err := json.Unmarshal([]byte(matrix), &values); err != nil {
		return l, fmt.Errorf("the matrix of the job is no JSON object: %w", err)
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
		l.values = append(l.values, text)
	}
	l.Matrix = strings.Join(parts, " ")
	return l, nil
}

// id identifies a leg, "" for the only one.
func (l Leg) id() string {
	if l.Job == "" && l.Matrix == "" {
		return ""
	}
	return digest("leg", l.Job, l.Matrix)
}

// named adds the leg of a matrix to a name that several legs share. A name that the
// workflow has built of the matrix already stays as it is.
func (l Leg) named(name string) string {
	if name == "" || l.Matrix == "" {
		return name
	}
	if slices.ContainsFunc(l.values, func(v string) bool { return !strings.Contains(name, v) }) {
		return escape.Text(name+" ("+l.Matrix+")", maxTitle)
	}
	return name
}
