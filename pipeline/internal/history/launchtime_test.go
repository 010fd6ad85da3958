package history

import (
	"testing"
	"time"
)

func TestLaunchTime(t *testing.T) {
	machine := map[string]string{"gpu_name": "H100", "gpu_count": "1"}
	other := map[string]string{"gpu_name": "A10", "gpu_count": "1"}
	session := func(day int, machine map[string]string, simulated, cell string, startup float64) Record {
		return Record{Kind: Session, ID: time.Duration(day).String(), Time: time.Unix(int64(day)*86400, 0), Machine: machine,
			Simulated: simulated,
			Cells:     []Cell{{Hash: cell, Metrics: map[string]float64{"startup.time": startup}}}}
	}
	h := &History{Records: []Record{
		session(1, machine, "", "a", 100), session(2, machine, "", "a", 300), session(3, machine, "", "b", 200),
		session(4, other, "", "a", 20), session(5, machine, "virtual", "a", 1), session(6, machine, "", "c", 5), session(7, machine, "", "a", 0),
	}}
	calibration := session(8, machine, "", "d", 400)
	calibration.Kind = Calibration
	h.Records = append(h.Records, calibration)
	if seconds, n := h.LaunchTime(Query{Machine: machine}, []string{"d"}); seconds != 400 || n != 1 {
		t.Errorf("%g s of %d calibrations, want 400 s of 1", seconds, n)
	}
	if seconds, n := h.LaunchTime(Query{Machine: machine}, []string{"a", "b"}); seconds != 200 || n != 3 {
		t.Errorf("%g s of %d sessions, want 200 s of 3", seconds, n)
	}
	if seconds, n := h.LaunchTime(Query{Machine: machine}, []string{"z"}); seconds != 0 || n != 0 {
		t.Errorf("%g s of %d sessions of a cell that nobody measured", seconds, n)
	}
}
