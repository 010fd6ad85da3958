package reports

import (
	"encoding/base64"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// uniform is the histogram of 1 … n milliseconds times scale.
func uniform(tb testing.TB, n int, scale float64, highest int64, digits int) string {
	tb.Helper()
	h := hdrhistogram.New(1, highest, digits)
	for i := 1; i <= n; i++ {
		if err := h.RecordValue(int64(float64(i) * 1000 * scale)); err != nil {
			tb.Fatal(err)
		}
	}
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

const day = 24 * 3600 * 1_000_000

func runOf(repeat int, status result.RunStatus, text string) result.Run {
	return result.Run{Repeat: repeat, Status: status, Histograms: map[string]string{"ttft": text}}
}

func TestCurveIsTheMedianOfTheRuns(t *testing.T) {
	c := &result.Cell{Runs: []result.Run{
		runOf(1, result.RunOK, uniform(t, 1000, 1, day, 3)),
		runOf(2, result.RunOK, uniform(t, 1000, 3, day, 3)),
		runOf(3, result.RunOK, uniform(t, 1000, 1.1, day, 3)),
		runOf(4, result.RunVoid, uniform(t, 1000, 50, day, 3)),
		runOf(5, result.RunOK, "garbage"),
	}}
	cv, unreadable := curveOf(c, "ttft")
	if cv.runs != 3 || cv.count != 3000 || unreadable != 1 {
		t.Fatalf("%d runs, %d values, %d unreadable", cv.runs, cv.count, unreadable)
	}
	for _, p := range cv.at {
		for _, x := range []struct{ got, want float64 }{{p.low, p.q}, {p.mid, 1.1 * p.q}, {p.high, 3 * p.q}} {
			if math.Abs(x.got-x.want) > 0.002*x.want+0.001 {
				t.Errorf("q = %g: %+v", p.q, p)
			}
		}
	}
	if last := cv.at[len(cv.at)-1].q; last != 0.999 {
		t.Errorf("of 1,000 values the last quantile is %g", last)
	}
}

func TestFewValuesHaveNoTail(t *testing.T) {
	cv, _ := curveOf(&result.Cell{Runs: []result.Run{runOf(1, result.RunOK, uniform(t, 20, 1, day, 3))}}, "ttft")
	if last := cv.at[len(cv.at)-1].q; last > 0.95 {
		t.Errorf("20 values have a quantile %g", last)
	}
}

func TestForeignHistogramsAreRefused(t *testing.T) {
	good := uniform(t, 10, 1, day, 3)
	for name, text := range map[string]string{
		"empty":        "",
		"no base64":    "*",
		"cut":          good[:len(good)/2],
		"five digits":  uniform(t, 10, 1, day, 5),
		"huge range":   uniform(t, 10, 1, math.MaxInt64/4, 3),
		"long":         strings.Repeat("A", 300<<10),
		"no zlib":      base64.StdEncoding.EncodeToString(make([]byte, 64)),
		"another kind": "AAAA" + good[4:],
	} {
		if _, err := decodeHistogram(text); !errors.Is(err, errHistogram) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := decodeHistogram(good); err != nil {
		t.Error(err)
	}
}

func FuzzDecodeHistogram(f *testing.F) {
	f.Add(uniform(f, 10, 1, day, 3))
	f.Add(uniform(f, 10, 1, day, 5))
	f.Add("HISTFAAAA")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := decodeHistogram(text)
		if (h == nil) == (err == nil) {
			t.Errorf("%v, %v", h, err)
		}
		c := &result.Cell{Runs: []result.Run{runOf(1, result.RunOK, text)}}
		cv, _ := curveOf(c, "ttft")
		for i, p := range cv.at {
			if !humanize.Finite(p.mid) || p.low > p.mid || p.mid > p.high || i > 0 && p.mid < cv.at[i-1].mid {
				t.Errorf("%+v", cv.at)
			}
		}
	})
}
