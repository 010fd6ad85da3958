package load

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

// recordedClient is a file of testdata/clients: what a client of an engine's own sends. record.py there makes it.
type recordedClient struct {
	Client, Version string
	Requests        map[string]struct {
		Path string
		Body map[string]any
	}
}

// apart are the members in which our requests differ from a client's, and why.
var apart = map[string]map[string]string{
	"vllm": {
		"temperature":            "ours is of the file, 0 without one; without it the model's own sampling would count",
		"stream_options":         "ours asks for the count of tokens in every event",
		"repetition_penalty":     "1 is what a server takes without it",
		"logprobs":               "null is the same as nothing",
		"truncate_prompt_tokens": "prompts of ours are not longer than the file says, and are not cut silently",
	},
	"sglang": {
		"stream_options":        "ours asks for the count of tokens in every event",
		"best_of":               "1 is what a server takes without it",
		"logprob_start_len":     "of log-probabilities that nobody asked for",
		"return_logprob":        "false is what a server takes without it",
		"return_routed_experts": "false is what a server takes without it",
	},
}

// TestRequestsAreThoseOfTheEnginesClients: path and body of each shape, member by member, but for those of
// apart.
func TestRequestsAreThoseOfTheEnginesClients(t *testing.T) {
	for _, client := range []string{"vllm", "sglang"} {
		text, err := os.ReadFile(filepath.Join("testdata", "clients", client+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var r recordedClient
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		used := map[string]bool{}
		for name, theirs := range r.Requests {
			t.Run(client+" "+r.Version+"/"+name, func(t *testing.T) {
				i := slices.IndexFunc(endpoints[:], func(e struct{ name, path string }) bool { return e.path == theirs.Path })
				if i < 0 {
					t.Fatalf("the load client has no %s", theirs.Path)
				}
				ours := sameRequest(t, endpoint(i), theirs.Body)
				for member := range apart[client] {
					_, we := ours[member]
					_, they := theirs.Body[member]
					used[member] = used[member] || we || they
					delete(ours, member)
					delete(theirs.Body, member)
				}
				if endpoint(i).pooled() {
					delete(theirs.Body, "ignore_eos") // which what generates nothing has no use for
				}
				if theirs.Body["lora_path"] == "" {
					delete(theirs.Body, "lora_path") // no adapter
				}
				plainContent(theirs.Body)
				if diff := cmp.Diff(theirs.Body, ours); diff != "" {
					t.Errorf("(-theirs +ours):\n%s", diff)
				}
			})
		}
		for member := range apart[client] {
			if !used[member] {
				t.Errorf("%s: no request has %s", client, member)
			}
		}
	}
}

// sameRequest is our request for what a client asks for.
func sameRequest(t *testing.T, e endpoint, theirs map[string]any) map[string]any {
	t.Helper()
	w := steps.Workload{Endpoint: endpoints[e].name, IgnoreEOS: true, Body: map[string]any{}}
	for _, member := range []string{"response_format", "tools", "tool_choice"} { // of the file's body
		if v, there := theirs[member]; there {
			w.Body[member] = v
		}
	}
	enc := &encoder{endpoint: e, model: "m", workload: w}
	for _, member := range []string{"model", "lora_path"} {
		if theirs[member] == "sql" {
			enc.model, enc.adapter = "sql", true
		}
	}
	p := dataset.Prompt{Text: "What?", Output: 4}
	for _, member := range []string{"prompt", "input_ids"} {
		if ids, ok := theirs[member].([]any); ok {
			p = dataset.Prompt{Output: 4}
			for _, id := range ids {
				p.IDs = append(p.IDs, int(id.(float64)))
			}
		}
	}
	if documents, ok := theirs["documents"].([]any); ok {
		for _, d := range documents {
			p.Documents = append(p.Documents, d.(string))
		}
	}
	if parts := content(theirs); len(parts) > 1 {
		messages, err := json.Marshal(theirs["messages"])
		if err != nil {
			t.Fatal(err)
		}
		p = dataset.Prompt{Messages: messages, Output: 4}
	}
	text, err := json.Marshal(enc.body(p))
	if err != nil {
		t.Fatal(err)
	}
	var ours map[string]any
	if err := json.Unmarshal(text, &ours); err != nil {
		t.Fatal(err)
	}
	return ours
}

// content are the parts of the only message of a chat.
func content(body map[string]any) []any {
	messages, ok := body["messages"].([]any)
	if !ok || len(messages) != 1 {
		return nil
	}
	parts, _ := messages[0].(map[string]any)["content"].([]any)
	return parts
}

// plainContent makes a text of a list that has only one, which is the same to a server.
func plainContent(body map[string]any) {
	parts := content(body)
	if len(parts) != 1 {
		return
	}
	message := maps.Clone(body["messages"].([]any)[0].(map[string]any))
	message["content"] = parts[0].(map[string]any)["text"]
	body["messages"] = []any{message}
}
