package model

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// span of a server of two GPUs over two nodes on the model's own links.
func twoNodes(link Link) Span {
	return Span{Nodes: 2, TensorParallel: 2, Link: link}
}

// Two GPUs of 24 GB in two nodes write a token two to three times as slowly as in one: 17
// and 39 ms with 10 requests at once, 28 and 85 ms with 100. Published were 13.0 and 43.8
// ms, 29.0 and 104.6 ms. Nothing of the model was fitted to that.
func TestTwoNodesAreSlowerByTheirLink(t *testing.T) {
	p, err := ProfileByName("a10")
	if err != nil {
		t.Fatal(err)
	}
	shape := KnownShape("Qwen/Qwen2-7B-Instruct", published)
	if !shape.Sized() {
		t.Fatal("the model is not known")
	}
	for _, tt := range []struct {
		sequences int
		low, high float64
	}{{10, 2, 2.5}, {50, 2.4, 3}, {100, 2.7, 3.4}} {
		var w work
		for range tt.sequences {
			w.addDecode(1536, 1)
		}
		one := Config{Profile: p, Shape: shape, GPUs: 2}
		two := one
		two.Span = twoNodes(p.Net.TCP)
		if ratio := two.stepTime(w).Seconds() / one.stepTime(w).Seconds(); ratio < tt.low || ratio > tt.high {
			t.Errorf("%d sequences: %.2f times as slow, want %g to %g", tt.sequences, ratio, tt.low, tt.high)
		}
		// Over RDMA the network is no longer what counts.
		two.Span = twoNodes(p.Net.RDMAPorts(0))
		if ratio := two.stepTime(w).Seconds() / one.stepTime(w).Seconds(); ratio < 1.05 || ratio > 2 {
			t.Errorf("%d sequences over RDMA: %.2f times as slow", tt.sequences, ratio)
		}
	}
}

// What crosses the network takes longer the more there is of it and the slower the link
// is; a pipeline's stages hand over less than tensor parallelism does.
func TestSpanProperties(t *testing.T) {
	shape := KnownShape("Qwen/Qwen2-7B-Instruct", published)
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(2, 8).Draw(t, "nodes")
		perNode := rapid.IntRange(1, 8).Draw(t, "GPUs of a node")
		link := Link{Bandwidth: rapid.Float64Range(1e8, 1e11).Draw(t, "bandwidth"),
			Latency: time.Duration(rapid.IntRange(1, 1000).Draw(t, "latency")) * time.Microsecond}
		w := work{sequences: rapid.IntRange(1, 200).Draw(t, "sequences")}
		w.decodeTokens = w.sequences
		gpus := nodes * perNode
		tensor := Span{Nodes: nodes, TensorParallel: gpus, Link: link}
		pipeline := Span{Nodes: nodes, TensorParallel: perNode, Link: link}
		inside, across := pipeline.time(shape, gpus, w), tensor.time(shape, gpus, w)
		if inside <= 0 || across <= inside {
			t.Fatalf("stages take %s, tensor parallelism %s", inside, across)
		}
		more := w
		more.prefillTokens += rapid.IntRange(1, 8192).Draw(t, "prefill")
		if tensor.time(shape, gpus, more) <= across {
			t.Fatal("more tokens take no longer")
		}
		slower := tensor
		slower.Link.Bandwidth /= 2
		if slower.time(shape, gpus, w) <= across {
			t.Fatal("half of the bandwidth takes no longer")
		}
		if one := (Span{}).time(shape, gpus, w); one != 0 {
			t.Fatalf("one node takes %s", one)
		}
	})
}

// published is the format of the checkpoint as it is.
func published(f WeightFormat) WeightFormat { return f }
