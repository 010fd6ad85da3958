package target

import (
	"slices"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// What a file may name is what the simulator knows.
func TestOperationsAreThoseOfTheModel(t *testing.T) {
	if want := model.OperationNames(); !slices.Equal(steps.SimulatedOperations, want) {
		t.Errorf("%q, and the model has %q", steps.SimulatedOperations, want)
	}
}
