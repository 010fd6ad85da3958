package slurmjob

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/steps"
)

// Steps of a job are profiled by their engines, and images not at all.
func TestUnprofiled(t *testing.T) {
	for name, tt := range map[string]struct {
		spec   steps.ServerSpec
		around bool
		want   string
	}{
		"a program":            {steps.ServerSpec{Executable: []string{"vllm"}}, false, ""},
		"a program under nsys": {steps.ServerSpec{Executable: []string{"vllm"}}, true, `take the profiler "torch"`},
		"an image":             {steps.ServerSpec{Image: "vllm"}, false, "cannot be copied out of it"},
		"an image, around it":  {steps.ServerSpec{Image: "vllm"}, true, "cannot be copied out of it"},
	} {
		err := (&job{}).Unprofiled(place.Process{Spec: tt.spec}, tt.around)
		if (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
