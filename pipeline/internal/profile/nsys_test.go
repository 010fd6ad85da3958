package profile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/profile"
)

// The tables of nsys are kernels and copies with their whole times, and the largest change is
// that of the kernel that takes longer.
func TestTablesOfNsys(t *testing.T) {
	var sides [2]profile.Summary
	for i, side := range []string{"base", "head"} {
		dir := t.TempDir()
		for _, table := range []string{"cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum"} {
			text, err := os.ReadFile(filepath.Join("testdata", "nsys", side+"_"+table+".csv"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "report_"+table+".csv"), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, other := range []string{"report.nsys-rep", "notes.txt"} {
			if err := os.WriteFile(filepath.Join(dir, other), []byte("?"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		files, err := profile.Files(dir)
		if err != nil || len(files) != 3 {
			t.Fatalf("%q, %v", files, err)
		}
		for _, file := range files {
			if err := sides[i].ReadFile(file); err != nil {
				t.Error(err)
			}
		}
	}
	if cpu, gpu := sides[0].Totals(); cpu != 0 || gpu < 0.00243 || gpu > 0.00245 || sides[0].Traces != 1 || sides[0].Events != 228+16 {
		t.Errorf("%v s of the CPU, %v of the GPU; %+v", cpu, gpu, sides[0])
	}
	rows, operations := profile.Compare(&sides[0], &sides[1], 1, 1)
	if operations != 8 || rows[0].Name != "device_kernel<enable_sm90<FlashAttnFwdSm90>>" || rows[0].BaseCalls != 28 ||
		rows[0].HeadCalls != 28 {
		t.Errorf("%d operations, %+v", operations, rows[0])
	}
}

// A table of other columns, or one that is cut, is an error; an empty one is a server without a kernel.
func TestTablesThatAreNone(t *testing.T) {
	const head = "Time (%),Total Time (ns),Instances,Avg (ns),Name\n"
	for name, tt := range map[string]struct {
		text, want string
		gpu        float64
	}{
		"empty":         {"", "", 0},
		"head alone":    {head, "", 0},
		"another order": {"Name,Instances,Total Time (ns)\nk,2,5000\n", "", 5e-6},
		"other units":   {"Time (%),Total Time (us),Instances,Name\n1,5,1,k\n", "not a table of nsys", 0},
		"a message":     {"SKIPPED: it does not contain CUDA kernel data.", "not a table of nsys", 0},
		"cut":           {head + "50.0,5000,1,5000,k\n50.0,50", "row 2 is cut", 5e-6},
		"no number":     {head + "50.0,NaN,1,5000,k\n", "row 1 has no times", 0},
		"no end":        {head + "50.0,1e999,1,5000,k\n", "row 1 has no times", 0},
	} {
		s := &profile.Summary{}
		err := s.ReadKernels(strings.NewReader(tt.text))
		if (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, gpu := s.Totals(); fmt.Sprintf("%.3g", gpu) != fmt.Sprintf("%.3g", tt.gpu) {
			t.Errorf("%s: %v s", name, gpu)
		}
	}
}
