package engine

import (
	"testing"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// The capacity of a deployment is the sum over its servers, and unknown if one of them is.
func TestCapacityOfADeployment(t *testing.T) {
	of := func(role string, tokens float64) *member {
		m := &member{Member: &Member{Role: role}}
		if tokens > 0 {
			m.about.Figures = map[string]float64{steps.StartKVTokens: tokens}
		}
		return m
	}
	for _, tt := range []struct {
		members []*member
		want    float64
	}{
		{[]*member{of(steps.RoleProducer, 100), of(steps.RoleConsumer, 50), of(result.RoleRouter, 0)}, 150},
		{[]*member{of(steps.RoleProducer, 100), of(steps.RoleConsumer, 0)}, 0},
	} {
		s := &server{members: tt.members}
		if got := s.kvTokens(); got != tt.want {
			t.Errorf("got %v, want %v", got, tt.want)
		}
	}
}

// What a token takes of the KV cache is reported where the servers report their caches' memory.
func TestKVBytesPerToken(t *testing.T) {
	of := func(gpus int, tokens, bytes float64) *member {
		m := &member{Member: &Member{Role: steps.RoleConsumer, Spec: steps.ServerSpec{GPUs: gpus}}}
		m.about.Figures = map[string]float64{steps.StartKVTokens: tokens, steps.StartKVBytes: bytes}
		return m
	}
	for _, tt := range []struct {
		name    string
		members []*member
		want    float64
	}{
		{"alike", []*member{of(1, 1000, 57344e3), of(1, 2000, 114688e3)}, 57344},
		{"one stores its cache in fewer bits", []*member{of(1, 1000, 57344e3), of(1, 1000, 28672e3)}, 28672},
		{"not known how many GPUs, or none", []*member{of(0, 10, 100)}, 10},
		{"memory of one GPU of several", []*member{of(1, 1000, 57344e3), of(2, 2000, 57344e3)}, 0},
		{"memory is not told", []*member{of(1, 1000, 57344e3), of(1, 1000, 0)}, 0},
	} {
		s := &server{members: tt.members}
		if got := s.kvBytesPerToken(); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
