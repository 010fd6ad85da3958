package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps/record"
)

// What a server answers cannot move a terminal's cursor or write a line of its own.
func TestErrorsAreFitForATerminal(t *testing.T) {
	hostile := "500: \x1b[2J\x1b]0;title\x07gone\r\npipeline: all is well\u202e" + strings.Repeat("x", 10_000)
	got := firstError(record.Run{Requests: record.ListOf(record.Request{},
		record.Request{Failure: "http_status", Error: hostile})})
	if strings.ContainsAny(got, "\x1b\x07\r\n\u202e") || len(got) > 4*maxError ||
		!strings.HasPrefix(got, "http_status: 500: gone pipeline: all is well") {
		t.Errorf("%.200q", got)
	}
	if got := shown(errors.New("first\x1b[31m\nsecond\x1b[2J\x07")); got != "first\nsecond\uFFFD" {
		t.Errorf("%q", got)
	}
}
