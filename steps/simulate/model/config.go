package model

import (
	"errors"
	"fmt"
	"time"
)

// Config is the configuration of a server's scheduler, with every default resolved.
type Config struct {
	Profile Profile
	Shape   ModelShape
	// Voice generates the answers.
	Voice Voice
	// GPUs is the number of GPUs of one replica.
	GPUs int
	// Stages is the number of pipeline stages that the layers are divided into; 0 means 1. The GPUs
	// of a stage share its layers.
	Stages int
	// Span describes a server on several nodes; zero for a server on one.
	Span Span
	// BlockSize is the number of tokens of one KV block.
	BlockSize int
	// KVBlocks is the capacity of the KV cache, in blocks.
	KVBlocks int
	// MaxSeqs limits the running sequences (vLLM: max_num_seqs, SGLang: max_running_requests).
	MaxSeqs int
	// Budget limits the tokens of one step (max_num_batched_tokens, chunked_prefill_size).
	Budget int
	// Chunked allows a prompt to be computed in several steps.
	Chunked bool
	// Mixed lets prefill and decode share a step, decodes first. Without it a step with prefill
	// work contains no decodes and precedes them: vLLM before V1 without chunked prefill, and
	// SGLang without --enable-mixed-chunk.
	Mixed bool
	// PrefixCache enables the prefix cache, by the hashes of blocks.
	PrefixCache bool
	// MaxModelLen limits the sum of prompt and output of one request, in tokens.
	MaxModelLen int
	// Speculation in decoding steps; zero for none.
	Speculation Speculation
	// Watermark is the share of blocks that must remain free when a request is admitted.
	Watermark float64
	// BlockingTransfer makes a step wait for KV from another server, as the connectors of vLLM
	// before V1 do in execute_model. Without it such requests wait outside of the batch until their
	// KV arrives (WAITING_FOR_REMOTE_KVS of V1).
	BlockingTransfer bool
	Noise            Noise
}

// ErrKVTooSmall reports that the KV cache cannot hold one request of the maximum length.
var ErrKVTooSmall = errors.New("the KV cache cannot hold one request of the maximum length")

// Validate checks that every request within MaxModelLen can be completed.
func (c Config) Validate() error {
	for _, f := range []struct {
		name  string
		value int
	}{{"block size", c.BlockSize}, {"maximum number of sequences", c.MaxSeqs}, {"token budget", c.Budget}, {"maximum length", c.MaxModelLen}} {
		if f.value < 1 {
			return fmt.Errorf("the %s is %d; it must be at least 1", f.name, f.value)
		}
	}
	if !c.Chunked && c.Budget < c.MaxModelLen {
		return fmt.Errorf("the token budget (%d) is smaller than the maximum length (%d); raise it or turn chunked prefill on",
			c.Budget, c.MaxModelLen)
	}
	if c.Mixed && c.Budget < c.MaxSeqs {
		return fmt.Errorf("the token budget (%d) is smaller than the number of sequences (%d); raise one or lower the other", c.Budget, c.MaxSeqs)
	}
	if need := c.watermarkBlocks() + ceilDiv(c.MaxModelLen, max(c.BlockSize, 1)); c.KVBlocks < need {
		return fmt.Errorf("%w: %d tokens fit, %d are needed; lower the maximum length or give the cache more memory", ErrKVTooSmall,
			c.KVTokens(), need*c.BlockSize)
	}
	return nil
}

// KVTokens returns the capacity of the KV cache in tokens.
func (c Config) KVTokens() int { return c.KVBlocks * c.BlockSize }

func (c Config) watermarkBlocks() int { return int(c.Watermark * float64(c.KVBlocks)) }

// KVTokenBytes returns the size of one token's KV on all GPUs together.
func (c Config) KVTokenBytes() float64 {
	return c.Shape.KVBytesPerToken * c.Shape.copies(c.tensorParallel())
}

// Joules returns the energy that the devices have used from the launch until now, given the time
// that they computed.
func (c Config) Joules(now, busy time.Duration) float64 {
	const idle = 1.0 / 6
	return float64(max(c.GPUs, 1)) * c.Profile.Watts * (idle*max(now-busy, 0).Seconds() + busy.Seconds())
}

// tensorParallel returns the number of GPUs that share each layer.
func (c Config) tensorParallel() int { return max(c.GPUs/max(c.Stages, 1), 1) }

// KVBlocksFor returns the number of KV blocks that fit into the share utilization of the devices'
// memory, beside weights and reserve. It can be 0.
func (c Config) KVBlocksFor(utilization float64) int {
	p := c.Profile
	free := float64(c.GPUs)*(p.MemBytes*utilization-p.ReservedBytes) - c.Shape.WeightBytes
	return max(0, int(free/(c.KVTokenBytes()*float64(c.BlockSize))))
}

// contextBytes is the memory of each device that is in use before the weights are loaded.
const contextBytes = 0.5e9

// WeightsFit reports whether the weights fit into memory.
func (c Config) WeightsFit() bool {
	return c.Shape.WeightBytes <= float64(max(c.GPUs, 1))*(c.Profile.MemBytes-contextBytes)
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
