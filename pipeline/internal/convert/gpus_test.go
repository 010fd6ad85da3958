package convert_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/convert"
)

// TestGPUs: the number of GPUs is what a result says, or follows from the sizes of its server's
// parallelism; where neither is there, nothing is invented.
func TestGPUs(t *testing.T) {
	for name, tt := range map[string]struct{ header, row, want string }{
		"said":                 {"gpus,tensor_parallel_size", "8,2", "8"},
		"another name":         {"num_gpus", "16", "16"},
		"tensor parallel":      {"tensor_parallel_size", "4", "4"},
		"all three":            {"arg_serve_tensor_parallel_size,arg_serve_pipeline_parallel_size,arg_serve_data_parallel_size", "2,3,4", "24"},
		"sglang":               {"arg_server_tp_size,arg_server_dp_size", "8,2", "16"},
		"attention alone":      {"arg_server_tp_size,arg_server_dp_size,arg_server_enable_dp_attention", "8,8,true", "8"},
		"nothing":              {"arg_max_num_seqs", "8", ""},
		"no number":            {"tp", "auto", ""},
		"more than there are":  {"tp,pp", "1048576,1048576", ""},
		"a size below nothing": {"tp", "-4", ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := tt.header + ",p99_ttft_ms,request_throughput\n" + tt.row + ",120,4\n"
			runs, err := convert.Read(strings.NewReader(text), "x.csv", convert.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := runs[0].Param("gpus"); got != tt.want || ok != (tt.want != "") {
				t.Errorf("%q, %v, want %q", got, ok, tt.want)
			}
		})
	}
}
