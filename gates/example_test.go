package gates_test

import (
	"fmt"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

func ExampleJudge() {
	ttft, _ := metric.Lookup("ttft.p99")
	j, err := gates.Judge(gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{{
		ID: "chat/ttft.p99", Gate: "gate.latency", Metric: ttft, Claim: gates.Claim{Margin: 0.05}, CanFail: true, Planned: 4,
		Pairs: []gates.Pair{
			{Repeat: 1, Base: 0.412, Head: 0.455},
			{Repeat: 2, Base: 0.409, Head: 0.449},
			{Repeat: 3, Base: 0.415, Head: 0.461},
			{Repeat: 4, Base: 0.411, Head: 0.452},
		},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	d := j.Comparisons[0]
	fmt.Printf("%s: %+.1f %% [%+.1f, %+.1f], p = %.2g, n = %d\n", d.Verdict, 100*d.Difference.Change, 100*d.Outcome.Interval.Lower,
		100*d.Outcome.Interval.Upper, d.Outcome.PHolm, d.N)
	// Output:
	// regression: +10.3 % [+9.6, +11.0], p = 2.1e-05, n = 4
}
