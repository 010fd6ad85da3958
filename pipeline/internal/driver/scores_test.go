package driver_test

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/driver"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// sample is a line of samples_*.jsonl of lm-eval 0.4.13, cut to what is read of it.
const sample = `{"doc_id": 0, "doc": {"question": "7 + 13 ="}, "target": " 20", "filtered_resps": ["20"], "filter": "FILTER", "metrics": ["exact_match"], "doc_hash": "97a1", "exact_match": 1.0}`

// evaluate runs a shell script as the program of an evaluation.
func evaluate(t *testing.T, e steps.Evaluation, script string, args ...string) (result.Run, string, error) {
	t.Helper()
	return try(t, t.Context(), steps.Driver{Command: sh(script, args...), Evaluation: &e, Output: "scores.jsonl"}, io.Discard)
}

func TestScores(t *testing.T) {
	output, dir := steps.DriverVar("output"), steps.DriverVar("dir")
	for name, tt := range map[string]struct {
		e      steps.Evaluation
		script string
		args   []string
		id     string
		mean   float64
	}{
		"ours": {steps.Evaluation{Questions: 2},
			`printf '{"id": "a", "score": 1}\n\n{"id": 2, "score": 0.5, "more": "top-secret"}\n' > "$1"`, []string{output}, "a", 0.75},
		"yes and no": {steps.Evaluation{Questions: 2, Score: "right"},
			`printf '{"id": "a", "right": true}\n{"id": "b", "right": false}\n' > "$1"`, []string{output}, "a", 0.5},
		"lm-eval": {steps.Evaluation{Questions: 1}, `mkdir "$1/m"; echo "$2" > "$1/m/samples_my_sums_2026-11-22T20-43-35.528192.jsonl"`,
			[]string{dir, sample}, "my_sums/0", 1},
		"two filters": {steps.Evaluation{Questions: 1, Filter: "FILTER"},
			`echo "$2" > "$1/samples_s_1.jsonl"; echo "$3" >> "$1/samples_s_1.jsonl"`,
			[]string{dir, sample, strings.Replace(sample, "FILTER", "loose", 1)}, "s/0", 1},
		"families": {steps.Evaluation{Questions: 3},
			`printf '{"id": "a", "score": 1, "family": "x"}\n{"id": "b", "score": 1, "family": "x"}\n{"id": "c", "score": 1, "family": 2}\n' > "$1"`,
			[]string{output}, "c", 1},
		"two tasks": {steps.Evaluation{Questions: 2}, `echo "$2" > "$1/samples_s_1.jsonl"; echo "$2" > "$1/samples_t_1.jsonl"`,
			[]string{dir, sample}, "t/0", 1},
	} {
		t.Run(name, func(t *testing.T) {
			run, kept, err := evaluate(t, tt.e, tt.script, tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := run.Scores[tt.id]; !ok || run.Status != result.RunOK || run.Metrics["evaluation.score"] != tt.mean ||
				run.Sent != tt.e.Questions {
				t.Errorf("%+v", run)
			}
			files, _ := filepath.Glob(filepath.Join(kept, "*.jsonl"))
			if len(files) == 0 {
				t.Error("nothing is kept")
			}
			for _, file := range files {
				if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "top-secret") {
					t.Errorf("%s, %v", text, err)
				}
			}
		})
	}
}

func TestScoresThatAreNone(t *testing.T) {
	two := steps.Evaluation{Questions: 2}
	for want, tt := range map[string]struct {
		e    steps.Evaluation
		text string
	}{
		"scored 1 questions, and the file says questions = 2": {two, `{"id": "a", "score": 1}`},
		`scores.jsonl:2: question "a" is there twice`:         {two, "{\"id\": \"a\", \"score\": 1}\n{\"id\": \"a\", \"score\": 1}"},
		"scores are from 0 to 1":                              {two, `{"id": "a", "score": 4}`},
		"must be a number":                                    {two, `{"id": "a", "score": "good"}`},
		`question "a" has no "score"`:                         {two, `{"id": "a"}`},
		"neither id and score nor a doc_id":                   {two, `{"accuracy": 1}`},
		"scores.jsonl:1: no JSON object":                      {two, `a: 1`},
		"the id of a question has 1 to 200 bytes":             {two, `{"id": "", "score": 1}`},
		"say by score which one counts":                       {two, strings.Replace(sample, `["exact_match"]`, `["exact_match", "f1"]`, 1)},
		"say by filter which one counts":                      {two, sample + "\n" + strings.Replace(sample, "FILTER", "loose", 1)},
		"left neither scores.jsonl nor samples_*.jsonl":       {two, ""},
	} {
		_, _, err := evaluate(t, tt.e, `test -z "$2" || printf '%s\n' "$2" > "$1"`, steps.DriverVar("output"), tt.text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, _, err := evaluate(t, two, `exit 3`); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("a program that fails: %v", err)
	}
}

// The model answers as many questions as the file declares, the same ones in nearly all runs.
func TestModel(t *testing.T) {
	one, other := driver.Model(steps.Evaluation{Questions: 1000, Accuracy: 0.8}, "r1"),
		driver.Model(steps.Evaluation{Questions: 1000, Accuracy: 0.7}, "r2")
	if share := one.Metrics["evaluation.score"]; share < 0.76 || share > 0.84 {
		t.Errorf("%g of the questions", share)
	}
	won, lost := 0, 0
	for q, score := range one.Scores {
		switch {
		case other.Scores[q] > score:
			won++
		case other.Scores[q] < score:
			lost++
		}
	}
	if won > 20 || lost < 70 || lost > 130 {
		t.Errorf("the head wins %d and loses %d", won, lost)
	}
}

// A family is a field of a line, or of the document that lm-eval took a question from; a long one is kept as its digest.
func TestFamilies(t *testing.T) {
	output := steps.DriverVar("output")
	for name, tt := range map[string]struct {
		e    steps.Evaluation
		text string
		want map[string]string
		err  string
	}{
		"none": {steps.Evaluation{Questions: 1}, `{"id": "a", "score": 1}`, nil, ""},
		"own":  {steps.Evaluation{Questions: 1}, `{"id": "a", "score": 1, "family": 7}`, map[string]string{"a": "7"}, ""},
		"of the document": {steps.Evaluation{Questions: 1, Family: "passage"},
			strings.Replace(sample, `"doc": {`, `"doc": {"passage": "p1", `, 1), map[string]string{"scores/0": "p1"}, ""},
		"long": {steps.Evaluation{Questions: 1, Family: "passage"}, `{"id": "a", "score": 1, "passage": "` + strings.Repeat("x", 65) + `"}`,
			map[string]string{"a": "9537c5fdf120482f"}, ""},
		"missing": {steps.Evaluation{Questions: 1, Family: "passage"}, `{"id": "a", "score": 1}`, nil, `question "a" has no "passage"`},
		"empty":   {steps.Evaluation{Questions: 1}, `{"id": "a", "score": 1, "family": ""}`, nil, `the family of question "a" is empty`},
		"of some": {steps.Evaluation{Questions: 2}, "{\"id\": \"a\", \"score\": 1, \"family\": \"x\"}\n{\"id\": \"b\", \"score\": 1}", nil,
			"1 of 2 questions have a family"},
	} {
		t.Run(name, func(t *testing.T) {
			run, _, err := evaluate(t, tt.e, `printf '%s\n' "$2" > "$1"`, output, tt.text)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatal(err)
				}
				return
			}
			if err != nil || !maps.Equal(run.Families, tt.want) {
				t.Errorf("%v, %v", run.Families, err)
			}
		})
	}
}
