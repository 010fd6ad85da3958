package driver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/servegate/pipeline/steps"
)

var lastSum = regexp.MustCompile(`(\d+) \+ (\d+) =$`)

// The program of examples/evaluation scores what a server answers that can add, but for every
// fourth sum.
func TestTheExampleScoresAnswers(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("needs python3, which examples/evaluation is written in")
	}
	script, err := filepath.Abs("../../../examples/evaluation/evaluate.py")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Prompt, Model string }
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &asked); err != nil || asked.Model != "m" || r.URL.Path != "/v1/completions" {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		terms := lastSum.FindStringSubmatch(asked.Prompt)
		a, _ := strconv.Atoi(terms[1])
		b, _ := strconv.Atoi(terms[2])
		if a%4 == 0 {
			a++
		}
		fmt.Fprintf(w, `{"choices": [{"text": " %d\n1 + 1 ="}]}`, a+b)
	}))
	defer server.Close()
	run, _, err := try(t, t.Context(), steps.Driver{
		Command: []string{"python3", script, server.URL, "m", steps.DriverVar("output"), "40"}, Output: "scores.jsonl",
		Evaluation: &steps.Evaluation{Questions: 40},
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if score := run.Metrics["evaluation.score"]; run.Scores["1: 7+13"] != 1 || run.Scores["4: 28+52"] != 0 || score < 0.5 || score == 1 {
		t.Errorf("score %g of %v", score, run.Scores)
	}
}
