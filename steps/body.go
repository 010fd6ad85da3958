package steps

import (
	"fmt"
	"maps"
	"slices"
)

// ownFields maps the fields of a request's body that only the load generator may write, because its records
// depend on them, to what to set instead.
var ownFields = map[string]string{
	"model": "set model or served_name of the server, or models of the benchmark", "prompt": "prompts come from the dataset",
	"messages": "prompts come from the dataset",
	"input":    "prompts come from the dataset", "input_ids": "prompts come from the dataset", "text": "prompts come from the dataset",
	"max_tokens": "set output_len", "max_completion_tokens": "set output_len", "max_new_tokens": "set output_len",
	"stream":         "every answer is streamed, since times to tokens are what is measured",
	"stream_options": "the usage of tokens is always asked for",
	"ignore_eos":     "set the argument ignore_eos", "temperature": "set the argument temperature",
	"n": "a request has one answer", "best_of": "a request has one answer",
}

// CheckBody returns a *FieldError for the first field of an additional request body that only the load
// generator may write, or nil.
func CheckBody(body map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(body)) {
		if instead, own := ownFields[name]; own {
			return &FieldError{name, instead}
		}
	}
	return nil
}

// FieldError reports a field of a body that the load generator writes itself.
type FieldError struct{ Field, Instead string }

func (e *FieldError) Error() string {
	return fmt.Sprintf("%q is written by the load generator itself, not by body: %s", e.Field, e.Instead)
}
