package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/servegate/pipeline/steps"
)

// Metric reads a figure from an engine's metrics.
type Metric struct {
	// Name of the figure.
	Name string
	// From lists the metric's names, the current one first: engines rename metrics and keep old
	// names for a while. The first existing one counts. For a histogram or summary, the figure is
	// its sum.
	From []string
	// Label splits the figure by the values of this label: Name.VALUE. "" adds them up.
	Label string
	// Scale converts the metric's unit to the figure's; 0 means 1.
	Scale float64
	// Mean averages over the lines of the metric instead of adding them up: for a share of each
	// engine core.
	Mean bool
}

// Metrics holds all figures that an engine reports.
type Metrics struct {
	Gauges, Counters []Metric
	// Path of the exposition; "" means /metrics.
	Path string
}

// Scrape fetches the exposition and reads the figures.
func (m Metrics) Scrape(ctx context.Context, c *Client, ep steps.Endpoint) (steps.Observation, error) {
	path := cmp.Or(m.Path, "/metrics")
	a, err := c.Get(ctx, ep, path)
	if err != nil {
		return steps.Observation{}, err
	}
	if !a.OK() {
		return steps.Observation{}, a.Err("GET " + path)
	}
	o, err := m.Read(a.Body)
	if err != nil {
		return o, fmt.Errorf("GET %s: %w", path, err)
	}
	o.At = time.Now()
	o.Exposition = func() []byte { return a.Body }
	return o, nil
}

// Read reads the figures from an exposition in the Prometheus text format. It only parses the lines
// of wanted metrics, one by one, so that hundreds of other metrics and broken lines cost nothing.
// It returns an error if it finds none of the wanted ones.
func (m Metrics) Read(exposition []byte) (steps.Observation, error) {
	o := steps.Observation{Gauges: map[string]float64{}, Counters: map[string]float64{}}
	wanted := map[string]bool{}
	for _, list := range [][]Metric{m.Gauges, m.Counters} {
		for _, metric := range list {
			for _, name := range metric.From {
				wanted[name], wanted[name+sumSuffix] = true, true
			}
		}
	}
	found, err := samples(exposition, wanted)
	if err != nil {
		return o, err
	}
	for _, metric := range m.Gauges {
		metric.read(found, o.Gauges)
	}
	for _, metric := range m.Counters {
		metric.read(found, o.Counters)
	}
	if len(o.Gauges)+len(o.Counters) == 0 {
		return o, errors.New("none of the engine's metrics is there")
	}
	return o, nil
}

// sumSuffix ends the name of the line with a histogram's sum.
const sumSuffix = "_sum"

// maxLabels limits the values of a label that become separate figures.
const maxLabels = 30

// read puts the metric's figure into out, if it exists.
func (m Metric) read(found map[string][]Sample, out map[string]float64) {
	for _, name := range m.From {
		lines := found[name]
		if len(lines) == 0 {
			lines = found[name+sumSuffix]
		}
		sums, counts := map[string]float64{}, map[string]int{}
		for _, s := range lines {
			if !s.firstRank() {
				continue
			}
			key := m.Name
			if m.Label != "" {
				key += "." + s.Labels[m.Label]
			}
			if _, there := sums[key]; !there && len(sums) >= maxLabels {
				continue
			}
			sums[key] += s.Value
			counts[key]++
		}
		for key, sum := range sums {
			if m.Mean {
				sum /= float64(counts[key])
			}
			if m.Scale != 0 {
				sum *= m.Scale
			}
			out[key] = sum
		}
		if len(sums) > 0 {
			return
		}
	}
}
