package simulate

import "time"

// work is what one step computes, summed over its sequences.
type work struct {
	sequences int
	// prefillTokens and decodeTokens go through the linear layers.
	prefillTokens, decodeTokens int
	// prefillPairs is the number of (query, key) pairs of the prefill attention.
	prefillPairs float64
	// contextTokens whose KV the decode attention reads.
	contextTokens int
}

// addPrefill adds a chunk of n tokens that follows done tokens of the same sequence:
// query i attends to done + i + 1 keys.
func (w *work) addPrefill(done, n int) {
	w.sequences++
	w.prefillTokens += n
	w.prefillPairs += float64(n)*float64(done) + float64(n)*float64(n+1)/2
}

// addDecode adds one decoded token of a sequence with context tokens before it.
func (w *work) addDecode(context int) {
	w.sequences++
	w.decodeTokens++
	w.contextTokens += context
}

// stepTime is the roofline of one forward pass on p divided over gpus devices:
//
//	overheads + max((weights + KV read) / bandwidth, 2·params·tokens / FLOPs) + 4·layers·hidden·pairs / attention FLOPs
//
// The linear layers need 2 operations per parameter and token; attention needs 4 per
// layer, hidden unit and (query, key) pair, two products of one multiplication and one
// addition each. See Kaplan et al., "Scaling Laws for Neural Language Models" (2020), table 1.
func stepTime(p Profile, m ModelShape, gpus int, w work) time.Duration {
	n := float64(max(gpus, 1))
	memory := (m.WeightBytes + float64(w.contextTokens)*m.KVBytesPerToken) / (p.MemBandwidth * n)
	compute := 2 * m.Params * float64(w.prefillTokens+w.decodeTokens) / (p.FLOPs * n)
	attention := 4 * float64(m.Layers) * float64(m.Hidden) * w.prefillPairs / (p.AttentionFLOPs * n)
	t := p.KernelOverhead + time.Duration(w.sequences)*p.SequenceOverhead
	if w.prefillTokens > 0 {
		t += p.PrefillOverhead
	}
	return t + seconds(max(memory, compute)+attention)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
