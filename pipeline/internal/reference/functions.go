package reference

import (
	"fmt"
	"io"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/lang/function"
)

// Functions writes the functions that expressions may call.
func Functions(w io.Writer, functions []function.Doc) error {
	var p page
	p.line("# Functions", "", generated, "", "Names and meanings follow Terraform.", "", "| call | is |", "|---|---|")
	for _, f := range functions {
		text := []string{f.Description}
		for _, param := range f.Params {
			if param.Description != "" {
				text = append(text, code(param.Name)+": "+param.Description)
			}
		}
		p.row(code(f.Signature()), strings.Join(text, " "))
	}
	return p.write(w)
}

// Metrics writes what can be measured, with units, definitions and their sources.
func Metrics(w io.Writer, metrics []lang.MetricDoc) error {
	var p page
	p.line("# Metrics", "", generated, "",
		"Each is the value of one run or launch. Below *least requests* a gate on it is refused: fewer say nothing. Times are seconds in files of results.", "",
		"| reference | label | unit | better | least requests | definition | source |", "|---|---|---|---|--:|---|---|")
	for _, m := range metrics {
		least := fmt.Sprint(m.MinRequests)
		if !m.Gated {
			least = "not gated"
		}
		p.row(code(m.Reference), m.Label, m.Unit, strings.TrimSuffix(m.Better, "_is_better"), least, m.Definition, m.Source)
	}
	return p.write(w)
}
