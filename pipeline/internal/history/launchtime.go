package history

import "slices"

// startupMetric is the time from the start of a launch to its readiness.
const startupMetric = "startup.time"

// launchSessions is the number of sessions for an estimate of the launch time.
const launchSessions = 10

// LaunchTime returns how long launches took in the newest sessions and calibrations on machines like this one that measured one of the
// cells: their upper median in seconds, 0 if there are none.
func (h *History) LaunchTime(q Query, cells []string) float64 {
	var found []float64
	for _, r := range slices.Backward(h.Records) {
		if r.Kind != Session && r.Kind != Calibration {
			continue
		}
		i := slices.IndexFunc(r.Cells, func(c Cell) bool { return slices.Contains(cells, c.Hash) && c.Metrics[startupMetric] > 0 })
		if i >= 0 && q.differs(r, r.Cells[i]) == "" && q.otherWork(r.Cells[i]) == "" {
			found = append(found, r.Cells[i].Metrics[startupMetric])
		}
		if len(found) == launchSessions {
			break
		}
	}
	if len(found) == 0 {
		return 0
	}
	slices.Sort(found)
	return found[len(found)/2]
}
