package model

import "time"

// Span describes how one server is spread over nodes.
type Span struct {
	// Nodes of the server; below 2 it is on one node.
	Nodes int
	// TensorParallel is the number of GPUs that share each layer. If a node has fewer, every
	// layer's results cross the network; otherwise only the hidden states between pipeline stages
	// do.
	TensorParallel int
	// Link between two nodes.
	Link Link
}

// time returns the time that a step spends on the network between the nodes, in addition to its
// computation. Tensor parallelism sums the results of attention and of the linear layers, two
// all-reduces in each layer and one for the embedding, and gathers the logits of each sequence. An
// all-reduce on a ring of k nodes has 2·(k − 1) phases that carry 1/k of the bytes each; a gather
// has k − 1. See Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication
// Operations in MPICH" (2005). Pipeline parallelism sends the hidden states to the next stage, and
// the tokens back.
func (s Span) time(m ModelShape, gpus int, w work) time.Duration {
	tokens := w.prefillTokens + w.decodeTokens
	if s.Nodes < 2 || tokens == 0 {
		return 0
	}
	hidden := m.HiddenBytes() * float64(tokens)
	perNode := max(gpus/s.Nodes, 1)
	if s.TensorParallel <= perNode {
		return time.Duration(s.Nodes-1)*s.Link.Time(hidden) + s.Link.Latency
	}
	k := ceilDiv(s.TensorParallel, perNode)
	reduce := time.Duration(2*(k-1)) * s.Link.Time(hidden/float64(k))
	logits := 2 * float64(m.vocabulary()) * float64(w.sequences)
	gather := time.Duration(k-1) * s.Link.Time(logits/float64(k))
	t := time.Duration(2*m.Layers+1)*reduce + gather
	if stages := s.Nodes / k; stages > 1 {
		t += time.Duration(stages-1)*s.Link.Time(hidden) + s.Link.Latency
	}
	return t
}
