package ui

import (
	"fmt"
	"strings"
	"time"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/term"
)

// maxFrame is the largest number of lines in the live area.
const maxFrame = 8

// gutter is the width of the words at the left of the live area.
const gutter = 9

// minName is the smallest number of columns for a name.
const minName = 12

// frame returns the live area at a time: at most eight lines, none wider than width.
func (s *state) frame(now time.Time, width int) []string {
	lines := []string{named("pipeline", s.file, s.standing(), width)}
	if s.step != nil {
		lines = append(lines, s.step.row("step", now, width))
	}
	if s.launch != nil {
		lines = append(lines, s.launch.row("server", now, width))
	}
	lines = append(lines, s.runRows(width)...)
	if s.total > 0 {
		lines = append(lines, row("total", join(", ", fmt.Sprintf("%s  run %d/%d, %s",
			bar(s.doneRuns, s.total, barWidth(width)), s.index, s.total, percent(s.doneRuns, s.total)), s.sideBySide())))
	}
	times := clock(s.elapsed(now)) + " elapsed"
	if left, known := s.remaining(now); known && s.doneRuns < s.total {
		times += ", " + about(left) + " left"
	}
	lines = append(lines, row("time", times))
	if len(lines) > maxFrame {
		lines = lines[:maxFrame]
	}
	for i := range lines {
		lines[i] = term.Cut(lines[i], width)
	}
	return lines
}

// standing returns the outcome so far.
func (s *state) standing() string {
	verdict := "no verdict yet"
	if s.judged {
		verdict = name(string(s.verdict))
	}
	if s.interrupted {
		verdict = "interrupted, stopping what was started"
	}
	if s.simulated {
		verdict = "simulated, " + verdict
	}
	if s.failedLaunches > 0 {
		verdict += ", " + humanize.Count(s.failedLaunches, "launch") + " failed"
	}
	if s.failedRuns > 0 {
		verdict += ", " + humanize.Count(s.failedRuns, "run") + " failed"
	}
	if s.voidRuns > 0 {
		verdict += ", " + humanize.Count(s.voidRuns, "run") + " void"
	}
	return verdict
}

// runRows returns the rows of the current run: its cell, its requests, its latencies.
func (s *state) runRows(width int) []string {
	if s.run == nil {
		return nil
	}
	lines := []string{row("run", join("  ", s.run.state, s.run.name))}
	p := s.running
	if p == nil {
		return lines
	}
	lines = append(lines, row("", fmt.Sprintf("%s  %d/%d sent, %d done, %d failed, %d in flight",
		bar(p.Done+p.Failed, p.Total, barWidth(width)), p.Sent, p.Total, p.Done, p.Failed, p.InFlight)))
	var said []string
	if p.Rate > 0 {
		said = append(said, fmt.Sprintf("%.3g requests/s", p.Rate))
	}
	if p.TTFTp50 > 0 {
		said = append(said, "TTFT p50 "+latency(p.TTFTp50)+", p99 "+latency(p.TTFTp99))
	}
	if len(said) > 0 {
		lines = append(lines, row("", strings.Join(said, ", ")))
	}
	return lines
}

// text formats an activity as a phrase.
func (a *activity) text(now time.Time) string {
	return join(", ", a.name, a.state, span(now.Sub(a.since).Seconds()))
}

func (a *activity) row(word string, now time.Time, width int) string {
	return named(word, a.name, join("  ", a.state, span(now.Sub(a.since).Seconds())), width)
}

// named returns a row in which a long name is shortened to fit the text.
func named(word, name, text string, width int) string {
	name = term.CutLeft(name, max(minName, width-gutter-2-term.Width(text)))
	return row(word, join("  ", name, text))
}

func row(word, text string) string { return term.Pad(word, gutter) + text }

// barWidth leaves room for the words after a bar.
func barWidth(width int) int { return max(4, min(24, width/4)) }
