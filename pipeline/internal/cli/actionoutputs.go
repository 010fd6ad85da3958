package cli

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/github"
	"github.com/servegate/pipeline/reports/result"
)

// output of the action.
type output struct{ name, value string }

// outputsOf lists the outputs. Those of a result are empty where there is none.
func outputsOf(dir string, code int, doc *result.Document, posted github.Posted) []output {
	report, verdict, regressions, gates := "", "", "", ""
	if doc != nil {
		report, verdict = filepath.Join(dir, store.ReportFile), string(doc.Verdict)
		n := 0
		for _, g := range doc.Gates {
			if g.Verdict == result.Regression {
				n++
			}
		}
		regressions, gates = strconv.Itoa(n), summaryJSON(doc)
	}
	return []output{
		{"exit-code", strconv.Itoa(code)}, {"results", dir}, {"report-path", report}, {"verdict", verdict}, {"regressions", regressions},
		{"summary-json", gates}, {"comment-url", posted.CommentURL}, {"check-url", posted.CheckURL},
	}
}

// maxSummary bounds the gates of the output summary-json; results.json holds all.
const maxSummary = 500

// summaryJSON is the gates as one line.
func summaryJSON(doc *result.Document) string {
	type gate struct {
		Gate    string         `json:"gate"`
		Verdict result.Verdict `json:"verdict"`
		Fails   bool           `json:"fails"`
	}
	gates := []gate{}
	for i := range doc.Gates[:min(len(doc.Gates), maxSummary)] {
		g := &doc.Gates[i]
		gates = append(gates, gate{g.Addr, g.Verdict, g.On(g.Verdict) == result.Fail})
	}
	text, err := json.Marshal(gates)
	if err != nil {
		return "" // unreachable: texts always encode
	}
	return string(text)
}

// writeOutputs appends to the file that the runner names, if it does, with secrets masked:
// later steps print what they find there.
func writeOutputs(path string, values []output, mask func(string) string) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	for _, v := range values {
		// The form with a random delimiter takes any text.
		mark := delimiter()
		if _, err := fmt.Fprintf(f, "%s<<%s\n%s\n%s\n", v.name, mark, mask(v.value), mark); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

func delimiter() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return "EOF_" + hex.EncodeToString(b[:])
}
