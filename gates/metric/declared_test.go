package metric_test

import (
	"testing"

	"github.com/servegate/pipeline/gates/metric"
)

func TestDeclared(t *testing.T) {
	stalls := metric.Metric{ID: "measure.stalls", Label: "Stalls", Unit: metric.Count}
	cost, _ := metric.Lookup("cost.per_million_tokens")
	cost.Unit = metric.InMoney("EUR")
	d := metric.Declared{stalls, cost}
	for id, want := range map[string]metric.Unit{"measure.stalls": metric.Count, "cost.per_million_tokens": "EUR/Mtok",
		"ttft.p99": metric.Seconds} {
		if m, ok := d.Lookup(id); !ok || m.Unit != want {
			t.Errorf("%s: %q, %v; want %q", id, m.Unit, ok, want)
		}
	}
	if _, ok := d.Lookup("measure.others"); ok {
		t.Error("a metric that none declares is there")
	}
	if all := d.All(); len(all) != len(metric.All())+1 || all[len(all)-1].ID != stalls.ID {
		t.Error("All does not end with the declared metrics")
	}
}
