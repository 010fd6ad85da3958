package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Parts splits a step's time by its causes.
type Parts struct {
	// Host is the work around the products: launches, norms, sampling.
	Host time.Duration
	// Products of weights and in the attention; Attention is its share of them.
	Products, Attention time.Duration
	// Reduce is the time of collectives between GPUs of a node, Span the time between nodes.
	Reduce, Span time.Duration
}

func (p Parts) total() time.Duration { return p.Host + p.Products + p.Reduce + p.Span }

// RecordedStep is a step with the times of its operations, in their order.
type RecordedStep struct {
	Step
	Operations []OperationTime
}

// OperationTime is the time of an operation of all layers in one step.
type OperationTime struct {
	Operation *Operation
	Time      time.Duration
}

// Operation of a model with the names that profilers show.
type Operation struct {
	// Name in the simulate block.
	Name string
	// Op is the operation that the host launches, Kernel the kernel on the GPU.
	Op, Kernel string
	// shares of the operation in the parts of a step.
	host, linear, attention, reduce, span float64
}

// operations of a decoder layer, and those around it. Shares of linear layers are those of a dense
// model with grouped queries; the rest of the host's part is time between kernels.
var operations = []Operation{
	{Name: "embedding", Op: "aten::embedding", Kernel: "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, " +
		"unsigned int, 2, 2, -2, true>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>)", host: 0.03},
	{Name: "rms_norm", Op: "_C::fused_add_rms_norm",
		Kernel: "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, c10::BFloat16*, c10::BFloat16 const*, float, int, int)",
		host:   0.15},
	{Name: "qkv_proj", Op: "aten::mm", Kernel: "nvjet_tst_128x64_64x9_1x2_h_bz_TNT", linear: 0.15},
	{Name: "rotary_embedding", Op: "_C::rotary_embedding", Kernel: "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, " +
		"c10::BFloat16*, c10::BFloat16*, c10::BFloat16 const*, int, long, long, int, int, int)", host: 0.1},
	{Name: "cache", Op: "_C_cache_ops::reshape_and_cache_flash", Kernel: "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, " +
		"__nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(__nv_bfloat16 const*, __nv_bfloat16 const*, __nv_bfloat16*, __nv_bfloat16*, long const*)",
		host: 0.08},
	{Name: "attention", Op: "vllm::unified_attention_with_output",
		Kernel: "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, " +
			"cute::tuple<cute::C<1>, cute::C<1>, cute::C<1>>>>>>(flash::FlashAttnFwdSm90::Params)", attention: 1},
	{Name: "o_proj", Op: "aten::mm", Kernel: "nvjet_tst_64x64_64x13_2x1_v_bz_splitK_TNT", linear: 0.1},
	{Name: "all_reduce", Op: "vllm::all_reduce", Kernel: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
		reduce: 1},
	{Name: "gate_up_proj", Op: "aten::mm", Kernel: "nvjet_tst_192x64_64x7_2x1_v_bz_TNT", linear: 0.45},
	{Name: "silu_and_mul", Op: "_C::silu_and_mul", Kernel: "void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 " +
		"vllm::silu_kernel<c10::BFloat16>(c10::BFloat16 const&)), true>(c10::BFloat16*, c10::BFloat16 const*, int)", host: 0.12},
	{Name: "down_proj", Op: "aten::mm", Kernel: "nvjet_tst_128x128_64x6_1x2_h_bz_splitK_TNT", linear: 0.22},
	{Name: "send_recv", Op: "c10d::send", Kernel: "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", span: 1},
	{Name: "lm_head", Op: "aten::linear", Kernel: "nvjet_tst_256x64_64x5_2x1_v_bz_TNN", linear: 0.08},
	{Name: "sampler", Op: "aten::argmax", Kernel: "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, " +
		"at::native::ArgMaxOps<float>, unsigned int, long, 4, 4> >(at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, " +
		"long, 4, 4>)", host: 0.2},
}

// OperationNames returns the operations in which a slowdown can be planted.
func OperationNames() []string {
	out := make([]string, len(operations))
	for i, o := range operations {
		out[i] = o.Name
	}
	return out
}

// KernelOf returns the kernel of an operation, "" if the name is unknown.
func KernelOf(name string) string {
	for _, o := range operations {
		if o.Name == name {
			return o.Kernel
		}
	}
	return ""
}

// record of an engine's steps.
type record struct {
	from, to time.Duration
	rng      *rand.Rand
	launch   map[string]float64 // factor of each operation in this launch
	steps    []RecordedStep
}

// Deviations of operations between launches and between steps, in addition to the step's.
const (
	operationLaunchSD = 0.01
	operationStepSD   = 0.03
)

// Record records the steps that begin in a span of time, for Recorded.
func (e *Engine) Record(from, to time.Duration) {
	seed := math.Float64bits(e.noise.launch) // differs between launches
	r := &record{from: from, to: to, rng: rand.New(rand.NewPCG(seed, 0x70726f66)), launch: map[string]float64{}}
	for _, o := range operations {
		r.launch[o.Name] = math.Exp(operationLaunchSD * r.rng.NormFloat64())
	}
	e.record = r
}

// Recorded returns the recorded steps and ends the recording.
func (e *Engine) Recorded() []RecordedStep {
	if e.record == nil {
		return nil
	}
	out := e.record.steps
	e.record = nil
	return out
}

// add records a step, unless it is outside of the span.
func (r *record) add(c Config, step Step, w work) {
	if r == nil || step.Start < r.from || step.Start >= r.to {
		return
	}
	step.Fetches, step.Prompts = slices.Clone(step.Fetches), slices.Clone(step.Prompts)
	p, took := c.stepParts(w), float64(step.End-step.Start)
	planted := 0.0 // additional time of the slow operation
	if c.Noise.SlowOp != "" && c.Noise.Slowdown > 1 {
		planted = took * (1 - 1/c.Noise.Slowdown)
	}
	times := make([]float64, len(operations))
	sum, idle := 0.0, float64(p.Host)
	for i, o := range operations {
		times[i] = o.host*float64(p.Host) + o.linear*float64(p.Products-p.Attention) + o.attention*float64(p.Attention) +
			o.reduce*float64(p.Reduce) + o.span*float64(p.Span)
		idle -= o.host * float64(p.Host)
		times[i] *= r.launch[o.Name] * math.Exp(operationStepSD*r.rng.NormFloat64())
		sum += times[i]
	}
	scale := (took - planted) / (sum + idle)
	kept := RecordedStep{Step: step}
	for i := range operations {
		t := times[i] * scale
		if operations[i].Name == c.Noise.SlowOp {
			t += planted
		}
		if t > 0 {
			kept.Operations = append(kept.Operations, OperationTime{&operations[i], time.Duration(t)})
		}
	}
	r.steps = append(r.steps, kept)
}
