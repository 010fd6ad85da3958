// Package prom writes metrics in Prometheus's text format, as Python's prometheus_client does.
package prom

import (
	"fmt"
	"io"
	"strconv"
)

// Histogram has upper bounds and is made cumulative when printed.
type Histogram struct {
	bounds []float64
	counts []int
	Sum    float64
	N      int
}

func NewHistogram(bounds ...float64) Histogram {
	return Histogram{bounds: bounds, counts: make([]int, len(bounds))}
}

func (h *Histogram) Add(v float64) {
	h.Sum += v
	h.N++
	for i, b := range h.bounds {
		if v <= b {
			h.counts[i]++
			return
		}
	}
}

// Writer writes the Prometheus text format.
type Writer struct {
	W      io.Writer
	Labels string
	// Scalars omits histograms, because their values are unknown.
	Scalars bool
	Err     error
}

func (x *Writer) Printf(format string, args ...any) {
	if x.Err == nil {
		_, x.Err = fmt.Fprintf(x.W, format, args...)
	}
}

func (x *Writer) Head(name, help, kind string) {
	x.Printf("# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (x *Writer) Value(name, help, kind string, v float64) {
	x.Head(name, help, kind)
	x.Printf("%s{%s} %s\n", name, x.Labels, FormatFloat(v))
}

func (x *Writer) Histogram(name, help string, h Histogram) {
	if x.Scalars {
		return
	}
	x.Head(name, help, "histogram")
	sum := 0
	for i, b := range h.bounds {
		sum += h.counts[i]
		x.Printf("%s_bucket{le=\"%s\",%s} %s\n", name, FormatFloat(b), x.Labels, FormatFloat(float64(sum)))
	}
	x.Printf("%s_bucket{le=\"+Inf\",%s} %s\n", name, x.Labels, FormatFloat(float64(h.N)))
	x.Printf("%s_count{%s} %s\n%s_sum{%s} %s\n", name, x.Labels, FormatFloat(float64(h.N)), name, x.Labels, FormatFloat(h.Sum))
}

// FormatFloat formats like Python's prometheus_client: integers end in ".0".
func FormatFloat(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if v == float64(int64(v)) && v < 1e15 && v > -1e15 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return s
}
