package site

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/series"
)

// alarm is a regression that a gate reported in sessions one after the other.
type alarm struct {
	runs []*Run
	// passed is set if a later session of the gate found no regression.
	passed bool
}

// outcome is what became of an alarm.
type outcome int

const (
	open        outcome = iota // one session, and none after it
	confirmed                  // a second session found it too, or a person accepted the new level
	noise                      // a person judged it to be noise
	unconfirmed                // the next session did not find it
)

func (a alarm) outcome() outcome {
	for _, r := range a.runs {
		if r.Noise != "" {
			return noise
		}
	}
	for _, r := range a.runs {
		if r.Accepted != "" {
			return confirmed
		}
	}
	switch {
	case len(a.runs) > 1:
		return confirmed
	case a.passed:
		return unconfirmed
	}
	return open
}

// score counts what a gate said in a month.
type score struct {
	sessions, inconclusive, unjudged, again int
	alarms                                  map[outcome]int
	hours                                   float64
}

func (s *score) add(o score) {
	s.sessions, s.inconclusive, s.unjudged, s.again = s.sessions+o.sessions, s.inconclusive+o.inconclusive, s.unjudged+o.unjudged,
		s.again+o.again
	s.hours += o.hours
	for k, n := range o.alarms {
		s.alarms[k] += n
	}
}

// gateKey names a gate of a file.
type gateKey struct{ file, gate string }

// scores counts what each gate said, by month. A session belongs to the month in which it began, and an alarm to that of
// its first session.
func (v *view) scores() map[gateKey]map[string]*score {
	out := map[gateKey]map[string]*score{}
	last := map[gateKey]*alarm{}
	at := func(k gateKey, t time.Time) *score {
		month := t.UTC().Format("2006-01")
		if out[k] == nil {
			out[k] = map[string]*score{}
		}
		if out[k][month] == nil {
			out[k][month] = &score{alarms: map[outcome]int{}}
		}
		return out[k][month]
	}
	end := func(k gateKey) {
		if a := last[k]; a != nil {
			at(k, a.runs[0].Time).alarms[a.outcome()]++
		}
		delete(last, k)
	}
	for i := range v.Runs {
		r := &v.Runs[i]
		for _, g := range r.Verdicts {
			k := gateKey{r.File, g.Gate}
			s := at(k, r.Time)
			s.sessions++
			s.hours += r.GPUHours
			if r.Attempt > 1 {
				s.again++
			}
			switch result.Verdict(g.Verdict) {
			case result.Regression:
				if last[k] == nil {
					last[k] = &alarm{}
				}
				last[k].runs = append(last[k].runs, r)
			case result.Pass, result.Improvement:
				if a := last[k]; a != nil {
					a.passed = true
				}
				end(k)
			case result.Inconclusive:
				s.inconclusive++
			default:
				s.unjudged++
			}
		}
	}
	for k := range last {
		end(k)
	}
	return out
}

// The rule by which an advisory gate may become a required one.
const (
	requiredMonths      = 3
	requiredSessions    = 20
	mostFalse           = 0.05 // of the sessions
	mostInconclusive    = 0.10
	monthsOnTheGatePage = 24

	requiredRule = "An advisory gate may become a required one if, over the last three months with sessions, it judged at least 20 " +
		"sessions, at most one in 20 raised an alarm that was noise or that the next session did not confirm, and at most one in ten " +
		"was inconclusive or not judged. Then let it fail for a regression."
	alarmRule = "An alarm is a regression in one session or several one after the other. It is confirmed if a second session found it too " +
		"or a person accepted the new level, noise if a person said so (pipeline baseline drop, or an acceptance whose reason begins " +
		"with \"noise\"), not confirmed if the next session did not find it, and open otherwise."
	hoursRule = "GPU-hours are those of the sessions that judged the gate; gates of one file share them."
)

// ready says whether a gate may become a required one, and if not, why.
func (s score) ready() (bool, string) {
	bad := s.alarms[noise] + s.alarms[unconfirmed]
	switch {
	case s.sessions < requiredSessions:
		return false, fmt.Sprintf("%d of %d sessions", s.sessions, requiredSessions)
	case float64(bad) > mostFalse*float64(s.sessions):
		return false, fmt.Sprintf("%s in %s", humanize.Count(bad, "false alarm"), humanize.Count(s.sessions, "session"))
	case float64(s.inconclusive+s.unjudged) > mostInconclusive*float64(s.sessions):
		return false, fmt.Sprintf("%.0f %% inconclusive", 100*float64(s.inconclusive+s.unjudged)/float64(s.sessions))
	}
	return true, "may be required"
}

// gates returns the scoreboard of the gates.
func (v *view) gates() *model.Report {
	scores := v.scores()
	keys := slices.SortedFunc(maps.Keys(scores), func(a, b gateKey) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.gate,
			b.gate))
	})
	columns := []model.Column{{Title: "gate"}, {Title: "month"}, {Title: "sessions", Align: model.Right}, {Title: "confirmed",
		Align: model.Right},
		{Title: "noise", Align: model.Right}, {Title: "not confirmed", Align: model.Right}, {Title: "open", Align: model.Right},
		{Title: "inconclusive", Align: model.Right}, {Title: "reruns", Align: model.Right, Aside: true}, {Title: "GPU-hours", Align: model.Right}}
	summary := model.Table{Columns: append(slices.Delete(slices.Clone(columns), 1, 2), model.Column{Title: "as a required gate", Wrap: true})}
	byMonth := model.Table{Columns: columns}
	may := 0
	for _, k := range keys {
		months := slices.Sorted(maps.Keys(scores[k]))
		total := score{alarms: map[outcome]int{}}
		for _, m := range months[max(0, len(months)-requiredMonths):] {
			total.add(*scores[k][m])
		}
		ok, why := total.ready()
		icon := model.IconInfo
		if ok {
			icon = model.IconPass
			may++
		}
		name := model.Join(" ", model.Code(k.gate), model.Plain(k.file))
		summary.Rows = append(summary.Rows, model.Row{Icon: icon, Cells: append(slices.Delete(total.cells(name, ""), 1, 2), model.Plain(why))})
		for _, m := range slices.Backward(months[max(0, len(months)-monthsOnTheGatePage):]) {
			byMonth.Rows = append(byMonth.Rows, model.Row{Cells: scores[k][m].cells(name, m)})
		}
	}
	r := &model.Report{Icon: model.IconInfo, Links: links(""), Heading: model.Plain(fmt.Sprintf("%s, %d may be required",
		humanize.Count(len(keys), "gate"), may)),
		Legend: []model.Line{model.Plain(alarmRule), model.Plain(hoursRule)}}
	if len(keys) == 0 {
		r.Heading = model.Plain("No gate has judged a session of this history yet")
	}
	r.Sections = model.Sections([]model.SectionOf[*view]{
		{ID: "gates", Build: func(*view) model.Section {
			return model.Section{Title: model.Plain("The last three months"), Tables: []model.Table{summary},
				Omitted: []model.Line{model.Plain(requiredRule)}}
		}},
		{ID: "months", Build: func(*view) model.Section {
			return model.Section{Title: model.Plain("By month"), Tables: []model.Table{byMonth}}
		}},
	}, v, true)
	return r
}

// cells returns the cells of a row of the scoreboard.
func (s score) cells(name model.Line, month string) []model.Line {
	count := func(n int) model.Line {
		if n == 0 {
			return model.Plain(humanize.None)
		}
		return model.Plain(fmt.Sprint(n))
	}
	share := humanize.None
	if s.sessions > 0 {
		share = fmt.Sprintf("%.0f %%", 100*float64(s.inconclusive+s.unjudged)/float64(s.sessions))
	}
	return []model.Line{name, model.Plain(month), model.Plain(fmt.Sprint(s.sessions)), count(s.alarms[confirmed]), count(s.alarms[noise]),
		count(s.alarms[unconfirmed]), count(s.alarms[open]), model.Plain(share), count(s.again), hours(s.hours)}
}

// drift returns the change of the last ten sessions against the first ten, on the log scale.
func drift(points []series.Point) string {
	const n = 10
	if len(points) < 2*n {
		return humanize.None
	}
	mean := func(part []series.Point) float64 {
		sum := 0.0
		for _, p := range part {
			sum += math.Log(p.Value)
		}
		return sum / float64(len(part))
	}
	return humanize.Percent(math.Exp(mean(points[len(points)-n:])-mean(points[:n])) - 1)
}
