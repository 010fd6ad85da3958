package model

import "time"

// work is the computation of one step, summed over its sequences.
type work struct {
	sequences int
	// prefillTokens and decodeTokens go through the linear layers.
	prefillTokens, decodeTokens int
	// prefillPairs is the number of (query, key) pairs of the prefill attention.
	prefillPairs float64
	// contextTokens is the number of tokens whose KV the decode attention reads.
	contextTokens int
	// window limits the attention of some layers, 0 for no limit; windowPairs and windowTokens are
	// the pairs and tokens of these layers.
	window       int
	windowPairs  float64
	windowTokens int
}

// addPrefill adds a chunk of n tokens that follows done tokens of the same sequence:
// query i attends to done + i + 1 keys.
func (w *work) addPrefill(done, n int) {
	w.sequences++
	w.prefillTokens += n
	w.prefillPairs += float64(n)*float64(done) + float64(n)*float64(n+1)/2
	if w.window > 0 { // query i attends to done + i + 1 keys, at most to the window
		short := float64(min(max(w.window-done, 0), n))
		w.windowPairs += short*float64(done) + short*(short+1)/2 + (float64(n)-short)*float64(w.window)
	}
}

// addDecode adds decoded tokens of a sequence with context tokens before them: one, and the drafts
// that are verified with it.
func (w *work) addDecode(context, tokens int) {
	w.sequences++
	w.decodeTokens += tokens
	w.contextTokens += context
	if w.window > 0 {
		w.windowTokens += min(context, w.window)
	}
}

// stepTime returns the time of one forward pass on the server's devices by a roofline,
// including communication between them:
//
//	overheads + max((weights + KV read) / bandwidth, 2·params·tokens / FLOPs) + 4·layers·hidden·pairs / attention FLOPs
//
// The linear layers need 2 operations per parameter and token; attention needs 4 per
// layer, hidden unit and (query, key) pair, two products of one multiplication and one
// addition each. See Kaplan et al., "Scaling Laws for Neural Language Models" (2020), table 1.
//
// Pipeline stages work concurrently on different batches of sequences. Each
// batch reads the weights of all stages, one after the other.
func (c Config) stepTime(w work) time.Duration { return c.stepParts(w).total() }

// stepParts returns the step time split by its causes.
func (c Config) stepParts(w work) Parts {
	p, m, n := c.Profile, c.Shape, float64(max(c.GPUs, 1))
	tensor := c.tensorParallel()
	idle := 1.0 // factor by which stages that wait for work extend the step
	if c.Stages > 1 {
		idle = float64(c.Stages) / float64(min(c.Stages, max(w.sequences, 1)))
	}
	kv := (float64(w.contextTokens)*m.KVBytesPerToken + float64(w.windowTokens)*m.WindowKVBytesPerToken) * m.copies(tensor)
	tokens := w.prefillTokens + w.decodeTokens
	memory := (m.streamed(tokens)*n/float64(tensor) + kv*idle) / (p.MemBandwidth * n)
	compute := 2 * m.Params * float64(tokens) / (p.products(m.ProductBits) * n) * idle
	attention := 4 * float64(m.Layers-m.WindowLayers) * float64(m.Hidden) * w.prefillPairs / (p.AttentionFLOPs * n) * idle
	if m.WindowLayers > 0 {
		attention += 4 * float64(m.WindowLayers) * float64(m.Hidden) * w.windowPairs / (p.AttentionFLOPs * n) * idle
	}
	host := p.KernelOverhead + time.Duration(w.sequences)*p.SequenceOverhead
	if w.prefillTokens > 0 {
		host += p.PrefillOverhead
	}
	products := max(memory, compute)
	return Parts{
		Host: host, Products: seconds(products + attention), Attention: seconds(attention +
			products*share(kv*idle, m.streamed(tokens)*n/float64(tensor)+kv*idle)),
		Reduce: c.reduceTime(tokens), Span: c.Span.time(m, c.GPUs, w),
	}
}

func share(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return part / whole
}

// ShortestStep returns the time of the shortest step, one decoded token without context.
func (c Config) ShortestStep() time.Duration {
	var least work
	least.addDecode(0, 1)
	t := c.stepTime(least)
	if f := c.Noise.Slowdown; f > 0 && f < 1 {
		t = time.Duration(float64(t) * f)
	}
	return t
}

// reduceTime returns the time that the GPUs of a node that share each layer need to sum its
// results: two all-reduces in each layer, in 2·(k − 1) phases on a ring that carry 1/k of the bytes
// each. Kernels pay the link's latency once.
func (c Config) reduceTime(tokens int) time.Duration {
	k := c.tensorParallel()
	if c.Span.Nodes > 1 {
		k = min(k, max(c.GPUs/c.Span.Nodes, 1))
	}
	if k < 2 || tokens == 0 {
		return 0
	}
	link := c.Profile.Net.NVLink
	bytes := c.Shape.HiddenBytes() * float64(tokens) * 2 * float64(k-1) / float64(k)
	return time.Duration(2*c.Shape.Layers+1) * link.Time(bytes)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
