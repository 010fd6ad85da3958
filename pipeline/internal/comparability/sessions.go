package comparability

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/engine/argument"
)

// Work describes the work of a cell in a session, so that the same cell of a later session can be compared with it.
// A session keeps means and sums of its requests: whether the texts of two sessions are equal is unknown.
type Work struct {
	// Facts are those of OfCell without the machine's and the model, and means over the requests.
	Facts Facts `json:"facts"`
	// Arguments of the servers that decide their work.
	Arguments map[string]string `json:"arguments,omitempty"`
	// Prompts holds the prompt tokens of each run in which all requests were answered, by the hash of its requests.
	Prompts map[string]int `json:"prompts,omitempty"`
}

// Facts of the answered requests of a cell.
const (
	promptTokens     = "answered.prompt_tokens"
	answerTokens     = "answered.output_tokens"
	answerCharacters = "answered.characters"
)

// WorkOf returns the work of a cell.
func WorkOf(doc *result.Document, cell *result.Cell) *Work {
	target := doc.Target(cell.Target)
	out := &Work{Facts: Facts{}, Arguments: target.Work, Prompts: map[string]int{}}
	for name, v := range OfCell(doc, cell) {
		if !strings.HasPrefix(name, machinePrefix) && name != Simulated && name != Model && !strings.HasPrefix(name, Parameter) {
			out.Facts[name] = v
		}
	}
	// Another load generator draws new prompts for each run, and a run of fixed length sends as many as it can.
	out.Facts.Set(promptTokens, out.Facts["input_tokens"])
	out.Facts.Set(answerTokens, out.Facts["output_tokens"])
	for _, name := range []string{"requests", "input_tokens", "output_tokens"} {
		delete(out.Facts, name)
	}
	repeats := strings.Contains(cell.Work["dataset_options"], "real_answers") // prompts repeat the server's own answers
	var sum result.RunRequests
	answered := 0
	for _, r := range cell.Current() {
		if r.Status != result.RunOK || r.Requests == nil {
			continue
		}
		answered += r.Sent - r.Failed
		sum.PromptTokens += r.Requests.PromptTokens
		sum.OutputTokens += r.Requests.OutputTokens
		sum.Characters += r.Requests.Characters
		if hash, ok := r.Audit["work_hash"].(string); ok && r.Failed == 0 && !repeats {
			out.Prompts[hash] = r.Requests.PromptTokens
		}
	}
	share := func(name string, of, to int) {
		if of > 0 && to > 0 {
			out.Facts.Set(name, significant(float64(of)/float64(to)))
		}
	}
	if !repeats {
		share(promptTokens, sum.PromptTokens, answered)
	}
	share(answerTokens, sum.OutputTokens, answered)
	share(answerCharacters, sum.Characters, sum.OutputTokens)
	return out
}

// Sessions lists how the work of a cell differs between two sessions. Unknown work differs in nothing.
func Sessions(then, now *Work) Differences {
	if then == nil || now == nil {
		return nil
	}
	out := Compare(then.Facts, now.Facts, nil)
	for _, name := range argument.OtherSettings(then.Arguments, now.Arguments) {
		out = append(out, Difference{Field: "argument." + name, Label: name, Base: orNotGiven(then.Arguments, name),
			Head: orNotGiven(now.Arguments, name)})
	}
	for _, hash := range slices.Sorted(maps.Keys(now.Prompts)) {
		was, is := then.Prompts[hash], now.Prompts[hash]
		if was > 0 && is > 0 && math.Abs(float64(is-was)) > workTolerance*float64(min(was, is)) {
			return append(out, Difference{Field: promptTokens, Label: "prompt tokens of the same requests", Base: fmt.Sprint(was),
				Head: fmt.Sprint(is)})
		}
	}
	return out
}

func orNotGiven(arguments map[string]string, name string) string {
	if v, ok := arguments[name]; ok {
		return v
	}
	return "not given"
}
