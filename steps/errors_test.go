package steps_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/servegate/pipeline/steps"
)

func TestUnsupported(t *testing.T) {
	err := fmt.Errorf("launch: %w", steps.Unsupported("server.vllm.sut", "containers come later"))
	if !errors.Is(err, steps.ErrUnsupported) {
		t.Error("the error is not ErrUnsupported")
	}
	if want := "launch: server.vllm.sut: containers come later"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
