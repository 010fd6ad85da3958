package markdown_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports/markdown"
	"github.com/servegate/pipeline/reports/model"
)

// sectionsOf has a section of each weight, with a note of 100 letters.
func sectionsOf(weights ...model.Weight) *model.Report {
	r := &model.Report{Heading: model.Plain("heading")}
	for i, w := range weights {
		id := string(rune('a' + i))
		r.Sections = append(r.Sections, model.Section{ID: id, Weight: w, Title: model.Plain("section " + id),
			Notes: []model.Line{model.Plain(strings.Repeat(id, 100))}})
	}
	return r
}

// TestWeights: details go first, then outcomes, then what needs attention, each from the last one.
func TestWeights(t *testing.T) {
	weights := []model.Weight{model.Attention, model.Outcome, model.Detail, model.Attention, model.Detail, model.Outcome}
	full, err := markdown.Render(sectionsOf(weights...), model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	gone := ""
	for budget := len(full); budget >= 300; budget-- {
		text, err := markdown.Render(sectionsOf(weights...), model.Options{Budget: budget, Full: "x"})
		if err != nil {
			break // not even the titles fit
		}
		for i := range weights {
			id := string(rune('a' + i))
			if !strings.Contains(text, strings.Repeat(id, 100)) && !strings.Contains(gone, id) {
				gone += id
			}
			if !strings.Contains(text, "section "+id) {
				t.Fatalf("%d bytes: the title of %s is gone", budget, id)
			}
		}
	}
	if want := "ecfbda"; gone != want {
		t.Errorf("gone in the order %s, want %s", gone, want)
	}
}
