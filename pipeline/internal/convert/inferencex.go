package convert

import (
	"errors"
	"strconv"
)

// inferenceXRow reads the times, and multiplies the throughput by the GPUs. It does not read the
// interactivity, which is one over the time per output token.
func inferenceXRow(_, item *value, r *Run, e *entryList) error {
	for i, key := range item.keys {
		f, ok := figureOf(key + " (s)")
		if ok && f.kind == latency && (f.group == "ttft" || f.group == "tpot" || f.group == "itl" || f.group == "e2el") {
			e.add(key+" (s)", item.items[i])
		}
	}
	g, ok := inferenceXGPUs(item)
	if !ok {
		r.seriousf("the row does not say how many GPUs its throughput was divided by: it is left out")
		return nil
	}
	if g.input < 0 || g.output < 0 || g.all <= 0 || g.all > 1<<20 {
		return &Error{r.Source, item.line, errors.New("the row has no number of GPUs")}
	}
	r.setParam("gpus", number(g.all))
	for _, rate := range []struct {
		key, label string
		gpus       float64
	}{{"tput_per_gpu", "total throughput", g.all}, {"output_tput_per_gpu", "output throughput", g.output},
		{"input_tput_per_gpu", "input throughput", g.input}} {
		if v, ok := item.at(rate.key).number(); ok {
			e.text(rate.label, strconv.FormatFloat(v*rate.gpus, 'g', -1, 64), item.at(rate.key).line)
		}
	}
	return nil
}

// gpuCounts are the divisors of the throughput of a row.
type gpuCounts struct{ all, input, output float64 }

// inferenceXGPUs counts the GPUs of a row: those of prefill and decode servers if they are
// separate, otherwise those of the parallelism of one server.
func inferenceXGPUs(item *value) (gpuCounts, bool) {
	prefill, okPrefill := item.at("num_prefill_gpu").number()
	decode, okDecode := item.at("num_decode_gpu").number()
	if okPrefill && okDecode {
		g := gpuCounts{prefill + decode, prefill, decode}
		if decode == 0 {
			g.output = g.all
		}
		return g, true
	}
	tp, ok := item.at("tp").number()
	for _, key := range []string{"pp", "pcp_size"} {
		if n, given := item.at(key).number(); given {
			tp *= n
		}
	}
	return gpuCounts{tp, tp, tp}, ok && item.at("is_multinode").str() != "true"
}
