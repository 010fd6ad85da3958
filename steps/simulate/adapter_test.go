package simulate

import (
	"slices"
	"testing"

	"github.com/servegate/pipeline/steps/simulate/wire"
)

// TestAdapters: a request to an adapter of the command line is taken, in each form that the engines have, and
// one to another name is refused as before.
func TestAdapters(t *testing.T) {
	names := adapterNames([]string{"sql=/adapters/sql", `{"name":"chat","path":"/adapters/chat"}`,
		`{"lora_name":"code","lora_path":"/adapters/code"}`, "plain"})
	if want := []string{"sql", "chat", "code", "plain"}; !slices.Equal(names, want) {
		t.Fatalf("adapters %q, want %q", names, want)
	}
	s := &Server{launch: &launch{served: "base", adapters: names}}
	for _, name := range append(names, "other") {
		_, err := s.accept(openaiRequest{Model: name}, false)
		refused, _ := err.(wire.Error) //nolint:errorlint // it is not wrapped
		if (refused.Status == 404) != (name == "other") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
