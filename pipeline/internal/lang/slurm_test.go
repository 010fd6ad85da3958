package lang

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

func TestReadSlurm(t *testing.T) {
	str, num := cty.StringVal, cty.NumberIntVal
	texts := func(words ...string) cty.Value {
		var values []cty.Value
		for _, w := range words {
			values = append(values, str(w))
		}
		return cty.ListVal(values)
	}
	got, found := readSlurm(steps.Object{Attrs: map[string]cty.Value{
		"partition": str("gpu"), "account": str("team"), "constraint": str("h100&ib"), "time": num(int64(2 * time.Hour)), "nodes": num(2),
		"gpus_per_node": num(8), "exclusive": cty.False, "extra_args": texts("--qos=high"), "queue_timeout": num(int64(time.Minute)),
		"runtime": str("pyxis"), "load_node": num(1),
	}})
	last := 1
	want := &steps.SlurmSpec{
		Partition: "gpu", Account: "team", Constraint: "h100&ib", Time: 2 * time.Hour, Nodes: 2, GPUsPerNode: 8, Shared: true,
		ExtraArgs: []string{"--qos=high"}, QueueTimeout: time.Minute, Runtime: steps.RuntimePyxis, LoadNode: &last,
	}
	if len(found) != 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("%v; got\n%+v, want\n%+v", found, got, want)
	}
	for name, tt := range map[string]struct {
		attrs map[string]cty.Value
		want  string
	}{
		"empty": {nil, ""},
		"time":  {map[string]cty.Value{"time": num(0)}, "time: time must be above zero"},
		"nodes": {map[string]cty.Value{"nodes": num(0)}, "nodes: nodes must be a whole number from 1 to 1024"},
		"half a GPU": {map[string]cty.Value{"gpus_per_node": cty.NumberFloatVal(0.5)},
			"gpus_per_node: gpus_per_node must be a whole number from 0 to 1024"},
		"a program": {map[string]cty.Value{"extra_args": texts("evil.sh")},
			`extra_args: "evil.sh" is not an option of sbatch with two dashes`},
		"a short one": {map[string]cty.Value{"extra_args": texts("-w", "n1")},
			"extra_args: \"-w\" is not an option of sbatch with two dashes\nextra_args: \"n1\" is not an option of sbatch with two dashes"},
		"the script":   {map[string]cty.Value{"extra_args": texts("--wrap=id")}, "extra_args: --wrap is set by this program"},
		"load beyond":  {map[string]cty.Value{"nodes": num(2), "load_node": num(2)}, "load_node: load_node = 2 is beyond the nodes of the job"},
		"load of one":  {map[string]cty.Value{"load_node": num(1)}, "load_node: load_node = 1 is beyond the nodes of the job"},
		"load nowhere": {map[string]cty.Value{"load_node": num(-1)}, "load_node: load_node must be a whole number from 0 to 1023"},
		"half a node": {map[string]cty.Value{"load_node": cty.NumberFloatVal(0.5)},
			"load_node: load_node must be a whole number from 0 to 1023"},
		"the end of it": {map[string]cty.Value{"extra_args": texts("--")}, `extra_args: "--" is not an option of sbatch with two dashes`},
	} {
		_, found := readSlurm(steps.Object{Attrs: tt.attrs})
		var lines []string
		for _, p := range found {
			lines = append(lines, strings.Join(p.Path, ".")+": "+p.Summary)
		}
		if got := strings.Join(lines, "\n"); got != tt.want {
			t.Errorf("%s: got:\n%s\nwant:\n%s", name, got, tt.want)
		}
	}
}
