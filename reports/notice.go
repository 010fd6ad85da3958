package reports

import (
	"strings"

	"github.com/servegate/pipeline/reports/result"
)

// NoticeSchema is the version of [Notice].
const NoticeSchema = "pipeline/notice/1.0"

// Notice is the verdict of a run for a program that is told about it, such as a chat. results.json has the evidence.
type Notice struct {
	Schema string `json:"schema"`
	// Text is the verdict in one or two sentences, for a program that shows it as it is: Slack and Mattermost read this
	// member, Discord reads content. Neither contains markup or mentions of the run's texts.
	Text    string `json:"text"`
	Content string `json:"content"`
	// Mentions tells Discord to notify nobody.
	Mentions NoticeMentions `json:"allowed_mentions"`

	RunID  string `json:"run_id"`
	File   string `json:"file"`
	Status string `json:"status"` // of the run
	// Verdict is "" if the run has none. ExitCode is that of the run.
	Verdict  string `json:"verdict,omitempty"`
	ExitCode int    `json:"exit_code"`
	// Simulated is how the servers were simulated, absent for real ones.
	Simulated string `json:"simulated,omitempty"`
	// Commit is the measured commit and Base the one that it was compared with, absent if unknown.
	Commit string `json:"commit,omitempty"`
	Base   string `json:"base,omitempty"`
	// Repository and Number are the change, absent for a run of none.
	Repository string `json:"repository,omitempty"`
	Number     int    `json:"number,omitempty"`
	// Gates are the gates of the file, 500 at most.
	Gates []NoticeGate `json:"gates"`
}

// NoticeMentions lists who is notified by a name in the text: nobody.
type NoticeMentions struct {
	Parse []string `json:"parse"`
}

// NoticeGate is the verdict of a gate.
type NoticeGate struct {
	Gate    string `json:"gate"`
	Verdict string `json:"verdict"`
	// Fails is set if the verdict fails the run.
	Fails bool `json:"fails"`
	// Worst is the comparison that decides the verdict, absent if nothing was compared.
	Worst *NoticeComparison `json:"worst,omitempty"`
}

// NoticeComparison is one comparison. The changes are head against base: 0.1 is 10 % more on the log scale.
type NoticeComparison struct {
	Metric string   `json:"metric"`
	Cell   string   `json:"cell,omitempty"` // its coordinates
	Scale  string   `json:"scale,omitempty"`
	Change *float64 `json:"change,omitempty"`
	Lower  *float64 `json:"lower,omitempty"` // ends of its interval
	Upper  *float64 `json:"upper,omitempty"`
	Margin float64  `json:"margin,omitempty"`
}

// maxNoticeGates limits the gates of a notice.
const maxNoticeGates = 500

// NewNotice returns the verdict of a document for a program that is told about it.
func NewNotice(doc *result.Document) Notice {
	v := newView(doc, Options{})
	_, verdict := v.verdict()
	text := strings.TrimSpace(verdict)
	if doc.Simulated != "" {
		text = "Simulated: " + text
	}
	if answer := Answer(doc, Options{}); answer != "" {
		text += ". " + answer + "."
	}
	n := Notice{
		Schema: NoticeSchema, Text: text, Content: text, Mentions: NoticeMentions{Parse: []string{}}, RunID: doc.RunID, File: doc.File,
		Status:  string(doc.Status),
		Verdict: string(doc.Verdict), ExitCode: doc.ExitCode, Simulated: doc.Simulated, Gates: []NoticeGate{},
	}
	worst := map[string]*result.Decision{}
	for _, r := range v.rows { // the worst first
		if _, ok := worst[r.gate.Addr]; !ok {
			worst[r.gate.Addr] = r.d
		}
	}
	for i := range doc.Gates[:min(len(doc.Gates), maxNoticeGates)] {
		g := &doc.Gates[i]
		gate := NoticeGate{Gate: g.Addr, Verdict: string(g.Verdict), Fails: g.On(g.Verdict) == result.Fail}
		if d := worst[g.Addr]; d != nil {
			gate.Worst = &NoticeComparison{Metric: d.Metric, Cell: result.Coordinates(d.Values, " "), Scale: string(d.Scale), Change: d.Change,
				Lower: d.Lower, Upper: d.Upper, Margin: float64(d.Margin)}
		}
		n.Gates = append(n.Gates, gate)
	}
	return n
}
