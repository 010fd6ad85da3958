package history_test

import (
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/history"
)

func TestLaunchTime(t *testing.T) {
	machine := map[string]string{"gpu_name": "H100", "gpu_count": "1"}
	other := map[string]string{"gpu_name": "A10", "gpu_count": "1"}
	session := func(day int, machine map[string]string, simulated, cell string, startup float64) history.Record {
		return history.Record{Kind: history.Session, ID: time.Duration(day).String(), Time: time.Unix(int64(day)*86400, 0), Machine: machine,
			Simulated: simulated,
			Cells:     []history.Cell{{Hash: cell, Metrics: map[string]float64{"startup.time": startup}}}}
	}
	h := &history.History{Records: []history.Record{
		session(1, machine, "", "a", 100), session(2, machine, "", "a", 300), session(3, machine, "", "b", 200),
		session(4, other, "", "a", 20), session(5, machine, "virtual", "a", 1), session(6, machine, "", "c", 5), session(7, machine,
			"", "a", 0),
	}}
	calibration := session(8, machine, "", "d", 400)
	calibration.Kind = history.Calibration
	h.Records = append(h.Records, calibration)
	for _, tt := range []struct {
		cells []string
		want  float64
	}{
		{[]string{"d"}, 400}, // of a calibration
		{[]string{"a", "b"}, 200},
		{[]string{"z"}, 0}, // a cell that nobody measured
	} {
		if got := h.LaunchTime(history.Query{Machine: machine}, tt.cells); got != tt.want {
			t.Errorf("cells %v: %g s, want %g", tt.cells, got, tt.want)
		}
	}
}
