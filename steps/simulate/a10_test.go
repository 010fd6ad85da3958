package simulate_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/model/modeltest"
)

// figures of one block of the published benchmark, in milliseconds.
type figures struct {
	ttftMean, ttftMedian, ttftP99 float64
	tpotMean, tpotMedian, tpotP99 float64
	itlMedian                     float64
}

type publishedBlock struct {
	input   int
	rate    float64
	chunked bool
	want    figures
}

// TestA10 replays the published benchmark on the profile "a10" with the arrivals of its
// own seed, without noise, and compares.
func TestA10(t *testing.T) {
	medians, near := 0, 0
	got := make(map[publishedBlock]figures)
	for _, b := range readPublished(t) {
		f := replayA10(t, b)
		got[b] = f
		for _, pair := range [][2]float64{{f.ttftMedian, b.want.ttftMedian}, {f.tpotMedian, b.want.tpotMedian}, {f.itlMedian, b.want.itlMedian}} {
			medians++
			if r := pair[0] / pair[1]; r > 0.75 && r < 1.25 {
				near++
			} else {
				t.Logf("input %d rate %g chunked %v: median %.1f ms, published %.1f ms", b.input, b.rate, b.chunked, pair[0], pair[1])
			}
		}
		if r := f.ttftMean / b.want.ttftMean; r < 0.75 || r > 1.25 {
			t.Errorf("input %d rate %g chunked %v: mean TTFT %.1f ms, published %.1f", b.input, b.rate, b.chunked, f.ttftMean, b.want.ttftMean)
		}
		if r := f.tpotMean / b.want.tpotMean; r < 0.75 || r > 1.25 {
			t.Errorf("input %d rate %g chunked %v: mean TPOT %.1f ms, published %.1f", b.input, b.rate, b.chunked, f.tpotMean, b.want.tpotMean)
		}
	}
	if near*10 < medians*9 {
		t.Errorf("%d of %d medians are within 25 %% of the published ones, want 9 of 10", near, medians)
	}
	whole, chunked := pick(t, got, false), pick(t, got, true)
	if r := chunked.tpotMedian / whole.tpotMedian; r < 1.5 {
		t.Errorf("chunked prefill changes the median TPOT by %.2f, published ×2.04", r)
	}
	if r := chunked.tpotMean / whole.tpotMean; r < 0.45 || r > 0.7 {
		t.Errorf("chunked prefill changes the mean TPOT by %.2f, published ×0.57", r)
	}
	if r := chunked.ttftP99 / whole.ttftP99; r > 0.9 {
		t.Errorf("chunked prefill changes the p99 TTFT by %.2f, published ×0.67", r)
	}
	if r := chunked.ttftMedian / whole.ttftMedian; r < 0.85 || r > 1.15 {
		t.Errorf("chunked prefill changes the median TTFT by %.2f, published ×1.01", r)
	}
}

// pick returns the figures of the block with long prompts.
func pick(t *testing.T, got map[publishedBlock]figures, chunked bool) figures {
	t.Helper()
	for b, f := range got {
		if b.input == 1011 && b.chunked == chunked {
			return f
		}
	}
	t.Fatal("no such block")
	return figures{}
}

func replayA10(t *testing.T, b publishedBlock) figures {
	t.Helper()
	args := []string{"vllm", "serve", "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "--max-model-len", "10000"}
	if b.chunked {
		args = append(args, "--enable-chunked-prefill")
	}
	cfg := configOf(t, simulate.Settings{Version: "0.6.4.post1", Profile: "a10"}, args...)
	cfg.Noise = model.Noise{}
	var arrivals []model.Arrival
	var at time.Duration
	for i, gap := range readGaps(t) {
		// Sonnet prompts end with the last line that fits: up to 24 tokens of spread.
		arrivals = append(arrivals, model.Arrival{At: at, Input: b.input - 12 + (i*7)%25, Output: 6})
		// The published durations exceed the schedule's by 1.8 ms a request: the old client slept after each.
		at += time.Duration(gap/b.rate*float64(time.Second)) + 1800*time.Microsecond
	}
	timelines, err := modeltest.Model{Config: cfg}.Replay(arrivals, 1)
	if err != nil {
		t.Fatal(err)
	}
	return summarize(timelines)
}

func summarize(timelines []model.Timeline) figures {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	var ttft, tpot, itl []float64
	for _, tl := range timelines {
		n := len(tl.Tokens)
		ttft = append(ttft, ms(tl.Tokens[0]-tl.Arrival))
		tpot = append(tpot, ms(tl.Tokens[n-1]-tl.Tokens[0])/float64(n-1))
		for i := 1; i < n; i++ {
			itl = append(itl, ms(tl.Tokens[i]-tl.Tokens[i-1]))
		}
	}
	return figures{mean(ttft), quantile(ttft, 0.5), quantile(ttft, 0.99), mean(tpot), quantile(tpot, 0.5), quantile(tpot, 0.99),
		quantile(itl, 0.5)}
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// quantile is numpy's linear interpolation.
func quantile(x []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(x))
	at := q * float64(len(s)-1)
	i := int(at)
	if i+1 == len(s) {
		return s[i]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

func dataLines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func readGaps(t *testing.T) []float64 {
	t.Helper()
	var gaps []float64
	for _, line := range dataLines(t, "testdata/seed0_gaps.txt") {
		gaps = append(gaps, number(t, line))
	}
	return gaps
}

func readPublished(t *testing.T) []publishedBlock {
	t.Helper()
	var blocks []publishedBlock
	for _, c := range readSeed000(t) {
		if c.backend == "whole" || c.backend == "chunked" {
			blocks = append(blocks, publishedBlock{c.input, c.rate, c.backend == "chunked", c.published})
		}
	}
	return blocks
}
