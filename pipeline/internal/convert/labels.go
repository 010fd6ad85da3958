package convert

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// label marks a parameter as a label above several results.
func (r *Run) label(key string) {
	put(&r.labels, canonicalKey(key), true)
}

// checkLabels compares the labels above a block with the counts of the block, before its figures
// are read. A list of labels may end before the blocks do, so a label that contradicts the figures
// belongs to another block. The measured value replaces it, and the other labels of the load are
// removed.
func (r *Run) checkLabels(b *openBlock) {
	requests := b.requests()
	if requests <= 0 {
		return
	}
	measured := map[string]float64{"num_prompts": requests}
	tokens, reported := b.count("input")
	wrong := map[string]bool{}
	for key := range r.labels {
		switch {
		case key == "num_prompts":
			wrong[key] = contradictsRequests(r.Params[key], b)
		case isInputLength(key) && reported:
			measured[key] = math.Round(tokens / max(1, float64(b.succeeded())))
			wrong[key] = contradictsLength(r.Params[key], measured[key])
		}
	}
	keys := slices.Sorted(maps.Keys(r.labels))
	if i := slices.IndexFunc(keys, func(key string) bool { return isInputLength(key) && wrong[key] }); i >= 0 {
		r.seriousf("%s = %s does not fit its %.0f input tokens in %.0f requests: the label above is not this block's", keys[i],
			clip(r.Params[keys[i]]), tokens, requests)
		for _, key := range keys {
			wrong[key] = wrong[key] || isLoad(key)
		}
	}
	for key := range r.labels {
		if !wrong[key] {
			continue
		}
		delete(r.Params, key)
		if v, ok := measured[key]; ok {
			r.setParam(key, strconv.FormatFloat(v, 'f', -1, 64))
			r.countedPrompts = r.countedPrompts || key == "num_prompts"
		}
	}
}

// isInputLength reports whether a parameter is the length of a prompt in tokens.
func isInputLength(key string) bool {
	return key == "seq_length" || key == "input_len" || key == "prompt_len" || strings.HasSuffix(key, "_input_len")
}

// isLoad reports whether a parameter belongs to the load.
func isLoad(key string) bool {
	switch key {
	case "dataset_name", "request_rate", "max_concurrency", "num_prompts", "burstiness":
		return true
	}
	return isInputLength(key) || isDatasetKey(key) || strings.HasSuffix(key, "_output_len")
}

// contradictsLength reports whether a measured prompt length contradicts a label. A template adds
// some tokens, and random lengths vary about their mean. A list of lengths always contradicts.
func contradictsLength(label string, measured float64) bool {
	const share, template = 0.1, 16
	v, err := parseNumber(label, 0)
	return err != nil || math.Abs(measured-v) > max(share*v, template)
}

// contradictsRequests reports whether a number of requests contradicts a label. If failures are not
// reported, there may be fewer requests.
func contradictsRequests(label string, b *openBlock) bool {
	v, err := parseNumber(label, 0)
	if err != nil {
		return true
	}
	if _, reported := b.count("failed"); reported {
		return v != b.requests()
	}
	return v < b.requests()
}

// count returns a count of the block before the whole block is read.
func (b *openBlock) count(name string) (float64, bool) {
	for _, e := range b.entries {
		if f, ok := figureOf(e.label); ok && f.kind == count && f.name == name {
			v, err := parseNumber(e.value, 0)
			return v, err == nil
		}
	}
	return 0, false
}

// requests returns the successes, and the failures if reported.
func (b *openBlock) requests() float64 {
	ok, _ := b.count("succeeded")
	failed, _ := b.count("failed")
	return ok + failed
}

// succeeded returns the successes of the block, -1 if it has none.
func (b *openBlock) succeeded() int {
	if v, ok := b.count("succeeded"); ok {
		return int(v)
	}
	return -1
}

// checkLengths warns of a length in a row that contradicts the figures of the row. The mean of
// random lengths may be down to half of the label.
func (r *Run) checkLengths() {
	measured, ok := r.perRequest("input", r.Counts.InputTokens)
	if !ok {
		return
	}
	for _, key := range []string{"seq_length", "input_len"} {
		label, reported := r.Param(key)
		v, err := parseNumber(label, 0)
		if reported && err == nil && (measured < 0.45*v || measured > v && contradictsLength(label, measured)) {
			r.seriousf("%s is %s, and its prompts had %.6g tokens on average", key, label, measured)
		}
	}
}
