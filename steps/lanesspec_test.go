package steps

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// laneObject is a lane block with some arguments.
func laneObject(attrs map[string]string) Object {
	o := Object{Attrs: map[string]cty.Value{}}
	for name, text := range attrs {
		if o.Attrs[name] = cty.StringVal(text); name == "gpus" || name == "nics" {
			o.Attrs[name] = cty.ListVal([]cty.Value{cty.StringVal(text)})
		}
	}
	return o
}

// Lanes have nothing in common, each has something, and what is wrong is said of the lane.
func TestLanesHaveNothingInCommon(t *testing.T) {
	type lanes = []map[string]string
	for name, tt := range map[string]struct {
		lanes lanes
		want  []string
	}{
		"apart":            {lanes{{"cores": "0-3,8", "memory": "0"}, {"cores": "4-7", "memory": "0"}}, nil},
		"by GPU":           {lanes{{"gpus": "0"}, {"gpus": "GPU-1234"}}, nil},
		"a core":           {lanes{{"cores": "0-3"}, {"cores": "4"}, {"cores": "2-5"}}, []string{"2 lane.cores: lanes 0 and 2 both have core 2"}},
		"its own twice":    {lanes{{"cores": "1,1"}, {"cores": "2"}}, []string{"0 lane.cores: lane 0 names core 1 twice"}},
		"a GPU":            {lanes{{"gpus": "0"}, {"gpus": "0"}}, []string{"1 lane.gpus: lanes 0 and 1 both have GPU 0"}},
		"a device":         {lanes{{"gpus": "0", "nics": "mlx5_0"}, {"gpus": "1", "nics": "mlx5_0"}}, []string{"1 lane.nics: lanes 0 and 1 both have network device mlx5_0"}},
		"nothing":          {lanes{{"cores": "0"}, {"memory": "0"}}, []string{"1 lane: lane 1 has nothing of its own", "1 lane: lane 1 has no cores, and others have"}},
		"unlike":           {lanes{{"cores": "0", "gpus": "0"}, {"cores": "1"}}, []string{"1 lane: lane 1 has no gpus, and others have"}},
		"no list":          {lanes{{"cores": "0"}, {"cores": "a-b"}}, []string{"1 lane.cores: cores must be a list of numbers and ranges"}},
		"two in one name":  {lanes{{"gpus": "0", "nics": "mlx5_1,evil"}, {"gpus": "1, 2", "nics": "mlx5_2:1"}}, []string{`0 lane.nics: "mlx5_1,evil" names no device`, `1 lane.gpus: "1, 2" names no device`}},
		"backwards":        {lanes{{"cores": "0"}, {"cores": "7-4"}}, []string{"1 lane.cores: cores cannot be read"}},
		"more than are":    {lanes{{"cores": "0"}, {"cores": "1-99999999999"}}, []string{"1 lane.cores: cores cannot be read"}},
		"beyond a machine": {lanes{{"cores": "0"}, {"cores": "99999"}}, []string{"1 lane.cores: cores cannot be read"}},
	} {
		var o Object
		o.Blocks = map[string][]Object{}
		for _, l := range tt.lanes {
			o.Blocks["lane"] = append(o.Blocks["lane"], laneObject(l))
		}
		_, found := ReadLanes(o)
		var got []string
		for _, p := range found {
			at := p.Path[0]
			if len(p.Path) > 1 {
				at += "." + p.Path[1]
			}
			got = append(got, fmt.Sprintf("%d %s: %s", p.Block, at, p.Summary))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
