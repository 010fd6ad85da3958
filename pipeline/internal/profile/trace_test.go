package profile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/result"
)

// A trace is masked as it is packed; one that is cut off keeps what can be read.
func TestMask(t *testing.T) {
	text := traceOf(x("cpu_op", "aten::mm secret-word", 1, 0, 5), x("cpu_op", "b", 1, 6, 5))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	redact := event.NewRedactor([]string{"secret-word"}).FileWriter
	for name, content := range map[string][]byte{
		"a.json": []byte(text), "a.json.gz": packed.Bytes(), "torn.json.gz": packed.Bytes()[:packed.Len()-9],
		"x_cuda_gpu_kern_sum.csv": []byte("1,secret-word\n"),
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Mask(path, redact); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, err := os.ReadFile(path)
		if err == nil && strings.HasSuffix(name, ".gz") {
			var r *gzip.Reader
			if r, err = gzip.NewReader(bytes.NewReader(got)); err == nil {
				got, err = io.ReadAll(r)
			}
		}
		if err != nil || strings.Contains(string(got), "secret-word") || !strings.Contains(string(got), event.Mask) {
			t.Errorf("%s: %v, %q", name, err, got)
		}
	}
	if !Opaque("report.nsys-rep") || !Opaque("report.sqlite") || Opaque("a.json.gz") {
		t.Error("what cannot be masked is opaque")
	}
}

// times of the operations of a trace in microseconds, by kind and name.
func times(t *testing.T, text string) (map[string]float64, *Summary) {
	t.Helper()
	s := &Summary{}
	if err := s.ReadTrace(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, o := range s.ops {
		out[o.Kind+" "+o.Name] = math.Round(o.Time*1e9) / 1e3
	}
	return out, s
}

func x(category, name string, tid any, start, duration float64) string {
	return fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":1,"tid":%v,"ts":%g,"dur":%g,"args":{"x":[1,{"ph":"X"}]}}`, category, name,
		tid, start, duration)
}

func traceOf(events ...string) string {
	return `{"schemaVersion":1,"deviceProperties":[{"id":0}],"traceEvents":[` + strings.Join(events, ",") + `],"traceName":"x"}`
}

func equal(t *testing.T, got, want map[string]float64) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// The time of an operation is its own, without that of those inside it; of the GPU it is all.
func TestOwnTime(t *testing.T) {
	got, s := times(t, traceOf(
		x("cpu_op", "outer", 7, 0, 100),
		x("cpu_op", "inner", 7, 10, 40),
		x("cpu_op", "innermost", 7, 20, 5),
		x("cpu_op", "inner", 7, 60, 10),
		x("cpu_op", "outer", 8, 0, 50), // another thread
		x("cuda_runtime", "cudaStreamSynchronize", 8, 10, 30),
		x("kernel", "k", 20, 0, 33), x("kernel", "k", 20, 10, 33), // of two streams at once
		x("python_function", "module.py(3): forward", 7, 0, 1000),
		x("ac2g", "flow", 7, 0, 1),
		`{"ph":"M","name":"process_name","pid":1}`, `{"ph":"X","cat":"cpu_op","name":"no times"}`, `17`, `null`,
	))
	equal(t, got, map[string]float64{"cpu outer": 50 + 20, "cpu inner": 35 + 10, "cpu innermost": 5, "gpu k": 66,
		"cpu cudaStreamSynchronize": 0})
	if s.Events != 8 || s.Traces != 1 || s.Late != 0 {
		t.Errorf("%+v", s)
	}
}

// Events need not be in the order of their start, and those that start together enclose each other.
func TestOrderOfEvents(t *testing.T) {
	want := map[string]float64{"cpu a": 60, "cpu b": 30, "cpu c": 10}
	list := []string{x("cpu_op", "a", 1, 0, 100), x("cpu_op", "b", 1, 0, 40), x("cpu_op", "c", 1, 0, 10)}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		got, _ := times(t, traceOf(list[order[0]], list[order[1]], list[order[2]]))
		equal(t, got, want)
	}
	got, _ := times(t, "["+strings.Join(list, ",")+"]") // the list alone
	equal(t, got, want)
	got, _ = times(t, traceOf(x("cpu_op", "a", `"worker"`, 0, 10), x("cpu_op", "b", `"other"`, 1, 10)))
	equal(t, got, map[string]float64{"cpu a": 10, "cpu b": 10})
}

// Annotations of steps count requests and tokens; they are one operation.
func TestAnnotations(t *testing.T) {
	got, _ := times(t, traceOf(x("user_annotation", "execute_context_1(512)_generation_3(3)", 1, 0, 10),
		x("user_annotation", "execute_context_0(0)_generation_4(4)", 1, 20, 10)))
	equal(t, got, map[string]float64{"cpu execute_context_N(N)_generation_N(N)": 20})
}

// What is wrong with a trace is reported, and what came before it counts.
func TestTraceThatIsNone(t *testing.T) {
	whole := traceOf(x("kernel", "k", 1, 0, 5), x("kernel", "k", 1, 9, 5))
	for name, tt := range map[string]struct {
		text, want string
		time       float64
	}{
		"empty":       {"", "not whole JSON", 0},
		"not JSON":    {"<html>", "not whole JSON", 0},
		"a number":    {"12", "not a trace", 0},
		"no events":   {`{"a":1}`, "no traceEvents", 0},
		"cut":         {whole[:len(whole)-40], "not whole JSON", 5},
		"long string": {`{"traceEvents":[` + x("kernel", "k", 1, 0, 5) + `,{"name":"` + strings.Repeat("x", maxString+1), "a string of it", 5},
	} {
		s := &Summary{}
		err := s.ReadTrace(strings.NewReader(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, gpu := s.Totals(); math.Abs(gpu*1e6-tt.time) > 1e-9 || s.Traces != 0 {
			t.Errorf("%s: %v s of kernels, %d traces", name, gpu, s.Traces)
		}
	}
	if err := (&Summary{}).readTrace(strings.NewReader(whole), 100); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("a trace that is too large: %v", err)
	}
}

// endless writes a trace of so many events.
func endless(events int) io.Reader {
	r, w := io.Pipe()
	go func() {
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		fmt.Fprint(z, `{"traceEvents":[`)
		var b bytes.Buffer
		for i := range events {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"ph":"X","cat":"cpu_op","name":"op %d","pid":1,"tid":%d,"ts":%d,"dur":1,"args":{"Input Dims":"[[1,2],[3,4]]"}}`,
				i%200_000, i%4, i)
			if b.Len() > 1<<16 {
				if _, err := b.WriteTo(z); err != nil {
					return
				}
			}
		}
		_, _ = b.WriteTo(z)
		fmt.Fprint(z, `]}`)
		_ = z.Close()
		_ = w.Close()
	}()
	return r
}

// A trace of any size is read in the same memory, with more names than are kept.
func TestLargeTrace(t *testing.T) {
	events := 300_000
	if *full {
		events = 8_000_000 // a gigabyte
	}
	s := &Summary{}
	if err := s.ReadTrace(endless(events)); err != nil {
		t.Fatal(err)
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapSys > 400<<20 {
		t.Errorf("%d MiB of memory for %d events", m.HeapSys>>20, events)
	}
	if cpu, _ := s.Totals(); s.Events != int64(events) || math.Abs(cpu-float64(events)/1e6) > 1e-6 || s.Late != 0 {
		t.Errorf("%d events of %v s, %d late", s.Events, cpu, s.Late)
	}
	if n := len(s.ops); n > maxNames+1 {
		t.Errorf("%d names", n)
	}
}

// Short names stay distinct, whatever kernels are called.
func TestShortNames(t *testing.T) {
	names := []string{
		"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, std::array<char*, 1ul> >(int, " +
			"at::native::FillFunctor<int>, std::array<char*, 1ul>)",
		"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, " +
			"at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
		"void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>, false>(flash::Flash_fwd_params)",
		"void vllm::(anonymous namespace)::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*, int)",
		"nvjet_tst_128x8_64x12_4x1_v_bz_TNT", "aten::mm", "vllm::unified_attention_with_output", "Memcpy HtoD (Pinned -> Device)",
		"Memcpy DtoH (Device -> Pinned)",
		"void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2>>>>(flash::FlashAttnFwdSm90::Params)",
		"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn", "<b>hostile</b>", "|table`\n::notice::", "()", "<", "void ",
		strings.Repeat("a", 300), strings.Repeat("a", 300) + "b",
	}
	short := shorten(result.ProfileGPU, names)
	seen := map[string]string{}
	for _, n := range names {
		s := short[n]
		if before, again := seen[s]; again || s == "" || len([]rune(s)) > shown {
			t.Errorf("%q is %q, as is %q", n, s, before)
		}
		seen[s] = n
	}
	for full, want := range map[string]string{
		names[9]: "device_kernel<enable_sm90<FlashAttnFwdSm90>>", names[7]: names[7],
		names[2]: "flash_fwd_splitkv_kernel", names[3]: "rms_norm_kernel", names[5]: "aten::mm",
		names[0]: "vectorized_elementwise_kernel<4, FillFunctor<int>, array<char*, 1ul> >",
	} {
		if short[full] != want {
			t.Errorf("%q, want %q", short[full], want)
		}
	}
}

func FuzzReadTrace(f *testing.F) {
	f.Add(traceOf(x("cpu_op", "outer", 7, 0, 100), x("kernel", "k", 1, -1, 1e300)))
	f.Add(`[{"ph":"X","cat":"cpu_op","name":"a","ts":1e308,"dur":1e308,"tid":{}}]`)
	f.Fuzz(func(t *testing.T, text string) {
		s := &Summary{}
		_ = s.ReadTrace(strings.NewReader(text))
		for _, o := range s.ops {
			if !(o.Time >= 0) || o.Name == "" {
				t.Errorf("%+v", o)
			}
		}
		Compare(s, &Summary{}, 1, 1)
	})
}

// Sides are compared by the time per unit of work, whichever did more of it.
func TestCompare(t *testing.T) {
	read := func(events ...string) *Summary {
		s := &Summary{}
		if err := s.ReadTrace(strings.NewReader(traceOf(events...))); err != nil {
			t.Fatal(err)
		}
		return s
	}
	base := read(x("kernel", "attention", 1, 0, 100), x("kernel", "mlp", 1, 0, 300), x("kernel", "gone", 1, 0, 10))
	head := read(x("kernel", "attention", 1, 0, 300), x("kernel", "mlp", 1, 0, 600), x("kernel", "new", 1, 0, 8))
	rows, n := Compare(base, head, 10, 20)
	if n != 4 || len(rows) != 4 {
		t.Fatalf("%d of %d rows", len(rows), n)
	}
	want := []string{"attention 5", "gone -1", "new 0.4", "mlp 0"}
	for i, r := range rows {
		if got := fmt.Sprintf("%s %.3g", r.Name, 1e6*r.Change); got != want[i] || r.Kind != result.ProfileGPU {
			t.Errorf("row %d is %s, want %s", i+1, got, want[i])
		}
	}
}

// A real vLLM with an operation that sleeps: it is the first row. The API server's trace has no
// operations, and is none.
func TestTracesOfVLLM(t *testing.T) {
	read := func(names ...string) *Summary {
		s := &Summary{}
		for _, name := range names {
			f, err := os.Open("testdata/vllm-cpu-" + name + ".trace.json.gz")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(s.ReadTrace(f), f.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if s.Traces != 1 || s.Late != 0 {
			t.Errorf("%d traces, %d late", s.Traces, s.Late)
		}
		return s
	}
	const tokens = 8
	rows, operations := Compare(read("base", "async_llm"), read("slow", "async_llm"), tokens, tokens)
	if r := rows[0]; r.Name != "aten::silu" || r.Kind != result.ProfileCPU || r.Change < 2e-3 || r.Change > 3e-3 || r.BaseCalls != 2 {
		t.Errorf("%+v", r) // two layers, a millisecond each
	}
	if operations < 40 || len(rows) != Top {
		t.Errorf("%d of %d operations", len(rows), operations)
	}
	if !slices.ContainsFunc(rows, func(r result.ProfileRow) bool { return r.Name == "execute_context_N(N)_generation_N(N)" }) {
		t.Errorf("the steps of the engine are no row: %+v", rows)
	}
}
