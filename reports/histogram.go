package reports

import (
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/servegate/pipeline/reports/result"
)

// distributions lists the groups of metrics whose histograms a run keeps.
var distributions = []struct{ group, label string }{
	{"ttft", "TTFT"}, {"tpot", "TPOT"}, {"itl", "ITL"}, {"e2el", "E2EL"},
}

// quantiles lists the quantiles at which distributions are drawn: enough for the body and for each further nine.
var quantiles = []float64{
	0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85,
	0.9, 0.92, 0.94, 0.96, 0.97, 0.98, 0.985, 0.99, 0.993, 0.995, 0.997, 0.998, 0.999, 0.9995, 0.9999,
}

// curve is the distribution of one side: at each quantile the median over the runs, with the smallest and the largest
// value. Runs are not pooled.
type curve struct {
	runs  int
	count int64 // values of all runs
	at    []curvePoint
}

// curvePoint is one quantile, in seconds.
type curvePoint struct{ q, mid, low, high float64 }

// maxCurveRuns limits the number of histograms read for one curve.
const maxCurveRuns = 32

// curveOf reads the histograms of a cell's current successful runs. It omits and counts the unreadable ones.
func curveOf(c *result.Cell, group string) (cv curve, unreadable int) {
	var hists []*hdrhistogram.Histogram
	least := int64(math.MaxInt64)
	for _, r := range c.Current() {
		text := r.Histograms[group]
		if r.Status != result.RunOK || text == "" || len(hists)+unreadable >= maxCurveRuns {
			continue
		}
		h, err := decodeHistogram(text)
		if err != nil {
			unreadable++
			continue
		}
		if n := h.TotalCount(); n > 0 {
			hists = append(hists, h)
			least = min(least, n)
			cv.count += n
		}
	}
	cv.runs = len(hists)
	if len(hists) == 0 {
		return cv, unreadable
	}
	cv.at = acrossRuns(hists, least)
	return cv, unreadable
}

// acrossRuns returns the median and the range of each quantile over the runs. least is the number of values in the
// smallest run.
func acrossRuns(hists []*hdrhistogram.Histogram, least int64) []curvePoint {
	var percentiles []float64
	for _, q := range quantiles {
		// Higher quantiles of the smallest run all equal its maximum.
		if q <= 0.5 || (1-q)*float64(least) >= 1-1e-9 {
			percentiles = append(percentiles, q*100)
		}
	}
	perRun := make([]map[float64]int64, len(hists))
	for i, h := range hists {
		perRun[i] = h.ValueAtPercentiles(percentiles)
	}
	points := make([]curvePoint, len(percentiles))
	for i, p := range percentiles {
		values := make([]float64, len(hists))
		for j := range hists {
			values[j] = float64(perRun[j][p]) / 1e6
		}
		slices.Sort(values)
		points[i] = curvePoint{q: quantiles[i], mid: median(values), low: values[0], high: values[len(values)-1]}
	}
	return points
}

// errHistogram is wrapped by errors about unreadable histograms.
var errHistogram = errors.New("not a histogram of this program")

// decodeHistogram reads an HdrHistogram V2 compressed string. The decoder allocates as much as the header demands, up
// to 48 MiB. decodeHistogram therefore first rejects headers beyond three digits and some days of microseconds, which
// no run of this program exceeds.
func decodeHistogram(text string) (*hdrhistogram.Histogram, error) {
	const (
		maxText   = 256 << 10
		maxDigits = 3
		maxValue  = 1 << 40
	)
	if len(text) > maxText {
		return nil, fmt.Errorf("%w: %d bytes", errHistogram, len(text))
	}
	digits, highest, err := histogramHeader(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errHistogram, err)
	}
	if digits > maxDigits || highest > maxValue {
		return nil, fmt.Errorf("%w: %d digits up to %d", errHistogram, digits, highest)
	}
	h, err := hdrhistogram.Decode([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errHistogram, err)
	}
	return h, nil
}

// histogramHeader reads significant digits and highest value from the header of the V2 encoding. The header has eight
// bytes, then compressed cookie, length, offset and digits (four bytes each), and lowest and highest value (eight
// bytes each).
func histogramHeader(text string) (digits int32, highest int64, err error) {
	packed := base64.NewDecoder(base64.StdEncoding, strings.NewReader(text))
	if _, err := io.CopyN(io.Discard, packed, 8); err != nil {
		return 0, 0, err
	}
	z, err := zlib.NewReader(packed)
	if err != nil {
		return 0, 0, err
	}
	var header struct {
		Cookie, Length, Offset, Digits int32
		Lowest, Highest                int64
	}
	if err := binary.Read(z, binary.BigEndian, &header); err != nil {
		return 0, 0, err
	}
	return header.Digits, header.Highest, z.Close()
}
