package model_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/traffic"
)

// TestSpeculation: as many drafted tokens are accepted as the chance says, answers are no longer
// than asked for, and steps take fewer than tokens.
func TestSpeculation(t *testing.T) {
	for _, want := range []model.Speculation{{Tokens: 4, Accept: 0.7}, {Tokens: 1, Accept: 0.9, Layers: 1}, {Tokens: 7, Accept: 0.3}} {
		p, err := model.ProfileByName("fast")
		if err != nil {
			t.Fatal(err)
		}
		c := model.Config{Profile: p, Shape: p.Model, GPUs: 1, BlockSize: 16, KVBlocks: 4000, MaxSeqs: 64, Budget: 2048, Chunked: true,
			Mixed: true, MaxModelLen: 1024}
		c.Speculation = want
		times := make([]time.Duration, 400)
		for i := range times {
			times[i] = time.Duration(i) * 20 * time.Millisecond
		}
		f, err := model.NewFleet(model.FleetSpec{Decode: []model.Node{{Config: c, Seed: 7}}})
		if err != nil {
			t.Fatal(err)
		}
		var served []model.Served
		err = f.Serve(context.Background(),
			model.Traffic{Plan: traffic.Plan{Times: times}, Request: func(int) (model.Arrival, error) {
				return model.Arrival{Input: 100, Output: 61}, nil
			}, Ended: func(s model.Served) { served = append(served, s) }})
		if err != nil {
			t.Fatal(err)
		}
		d := f.Note(0).Stats.Drafts
		for _, s := range served {
			if len(s.Tokens) != 61 {
				t.Fatalf("%d tokens, want 61", len(s.Tokens))
			}
		}
		positions := 0
		for _, n := range d.Positions {
			positions += n
		}
		if positions != d.Accepted || d.Tokens != d.Steps*want.Tokens {
			t.Errorf("%+v", d)
		}
		got := 1 + float64(d.Accepted)/float64(d.Steps)
		length := 1.0 // expected: the accepted drafts and the model's token
		for i := range want.Tokens {
			length += math.Pow(want.Accept, float64(i+1))
		}
		if limit := 4 * length / math.Sqrt(float64(d.Steps)); math.Abs(got-length) > limit {
			t.Errorf("%+v: acceptance length %.4f of %d steps, want %.4f ± %.4f", want, got, d.Steps, length, limit)
		}
	}
}
