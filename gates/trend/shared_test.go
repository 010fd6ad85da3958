package trend_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/servegate/pipeline/gates/trend"
)

// TestSharedMoves: a machine's move is one of at most a week, of most of its cells, by most of their margins.
func TestSharedMoves(t *testing.T) {
	one := func(level float64) func(int) float64 { return func(int) float64 { return level } }
	some := func(worse int) func(int) float64 {
		return func(cell int) float64 {
			if cell < worse {
				return 1.1
			}
			return 0.99
		}
	}
	type part struct {
		sessions int
		of       func(cell int) float64
	}
	quiet := part{10, one(1)}
	for name, tt := range map[string]struct {
		metric string
		cells  int
		margin float64
		parts  []part
		want   []trend.Move // without the number of cells that are worse, if all are
	}{
		"two sessions":     {"ttft.p99", 5, 0.05, []part{quiet, {2, one(1.1)}, quiet}, []trend.Move{{From: 10, To: 12, Change: 0.1}}},
		"the last two":     {"ttft.p99", 5, 0.05, []part{quiet, {2, one(1.1)}}, []trend.Move{{From: 10, To: 12, Change: 0.1, Open: true}}},
		"a week":           {"ttft.p99", 5, 0.05, []part{quiet, {7, one(1.1)}, quiet}, []trend.Move{{From: 10, To: 17, Change: 0.1}}},
		"more than a week": {"ttft.p99", 5, 0.05, []part{quiet, {8, one(1.1)}, quiet}, nil},
		"a new level":      {"ttft.p99", 5, 0.05, []part{{30, one(0.9)}, {12, one(1)}}, nil},
		"less throughput": {"output_throughput.mean", 5, 0.05, []part{quiet, {1, one(1 / 1.1)}, quiet},
			[]trend.Move{{From: 10, To: 11, Change: 0.1}}},
		"more throughput":    {"output_throughput.mean", 5, 0.05, []part{quiet, {1, one(1.1)}, quiet}, nil},
		"four cells":         {"ttft.p99", 4, 0.05, []part{quiet, {2, one(1.1)}, quiet}, nil},
		"four of five cells": {"ttft.p99", 5, 0.05, []part{quiet, {2, some(4)}, quiet}, []trend.Move{{From: 10, To: 12, Change: 0.1, Worse: 4}}},
		"three of five":      {"ttft.p99", 5, 0.05, []part{quiet, {2, some(3)}, quiet}, nil},
		"by less":            {"ttft.p99", 5, 0.05, []part{quiet, {2, one(1.02)}, quiet}, nil},
		"by a large margin":  {"ttft.p99", 5, 1, []part{quiet, {2, one(1.6)}, quiet}, []trend.Move{{From: 10, To: 12, Change: 0.6}}},
		"at its worst": {"ttft.p99", 5, 0.05, []part{quiet, {1, one(1.1)}, {1, one(1.2)}, {1, one(1.1)}, quiet},
			[]trend.Move{{From: 10, To: 13, Change: 0.2}}},
		"after five sessions": {"ttft.p99", 5, 0.05, []part{{5, one(1)}, {2, one(1.1)}, quiet}, []trend.Move{{From: 5, To: 7, Change: 0.1}}},
		"after four sessions": {"ttft.p99", 5, 0.05, []part{{4, one(1)}, {1, one(1.1)}, quiet}, nil},
	} {
		f := trend.Fleet{}
		for cell := range tt.cells {
			m := trend.Member{Unit: fmt.Sprint(cell), Metric: lookup(t, tt.metric), Values: map[int]float64{}, Margin: tt.margin}
			f.Sessions = 0
			for _, p := range tt.parts {
				for range p.sessions {
					m.Values[f.Sessions] = 0.4 * p.of(cell)
					f.Sessions++
				}
			}
			f.Series = append(f.Series, m)
		}
		got := trend.SharedMoves(f)
		if len(got) != len(tt.want) {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		for i, want := range tt.want {
			if want.Cells = tt.cells; want.Worse == 0 {
				want.Worse = tt.cells
			}
			if math.Abs(got[i].Change-want.Change) < 1e-9 {
				want.Change = got[i].Change
			}
			if got[i] != want {
				t.Errorf("%s: %+v, want %+v", name, got[i], want)
			}
		}
	}
}
