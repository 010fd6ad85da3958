package cli

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
)

// What --search and --slo cannot mean is refused in their own words.
func TestSearchFlagsAreChecked(t *testing.T) {
	for _, tt := range []struct{ search, slo, want string }{
		{"rate=0:4", "ttft.p90:500", "above zero"},
		{"rate=-4:4", "ttft.p90:500", "above zero"},
		{"rate=nan:4", "ttft.p90:500", "above zero"},
		{"rate=4:nan", "ttft.p90:500", "above zero"},
		{"rate=4:4", "ttft.p90:500", "above the first"},
		{"rate=4:inf", "ttft.p90:500", "more than a factor"},
		{"concurrency=1.5:4", "ttft.p90:500", "whole"},
		{"rate=4:64", "ttft.p90:500,ttft.p90:300", "two limits"},
		{"rate=4:64", "", "needs --slo"},
		{"rate=4:64", "acceptance.rate:50", "must be a time or share of requests"},
		{"rate=4:64", "capacity.rate:50", "must be a time or share of requests"},
	} {
		f := loadFlags{search: tt.search, burstiness: 1}
		if tt.slo != "" {
			f.slo = strings.Split(tt.slo, ",")
		}
		if _, err := f.searched(steps.Workload{}, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("--search %s --slo %s: %v, want %q", tt.search, tt.slo, err, tt.want)
		}
	}
	one := steps.Workload{Dataset: steps.Dataset{OutputMax: 1}}
	for _, tt := range []struct {
		f    loadFlags
		w    steps.Workload
		want string
	}{
		{loadFlags{vllmJSON: true}, steps.Workload{}, "a search is many"},
		{loadFlags{records: "records.gz"}, steps.Workload{}, "a search is many"},
		{loadFlags{slo: []string{"ttft.p90:500"}}, steps.Workload{Endpoint: "embeddings"}, "embeddings have none"},
		{loadFlags{ramp: time.Second}, steps.Workload{}, "no ramp"},
		{loadFlags{}, steps.Workload{Load: steps.Load{MaxConcurrency: 16}}, "holds back the rates"},
		{loadFlags{search: "concurrency=1:401"}, steps.Workload{Load: steps.Load{Requests: 400}}, "never sent by 401 users"},
		{loadFlags{slo: []string{"tpot.p50:40"}}, one, "--output-len asks for one"},
	} {
		tt.f.search, tt.f.burstiness = cmp.Or(tt.f.search, "rate=4:64"), 1
		if _, err := tt.f.searched(tt.w, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.f, err, tt.want)
		}
	}
}

// TestSearchOfADuration: the arrivals of a search are its own, so that a duration bounds its probes.
func TestSearchOfADuration(t *testing.T) {
	f := loadFlags{search: "rate=4:64", slo: []string{"e2el.p90:500"}, rate: "inf", burstiness: 1, duration: time.Minute}
	l, err := f.loadModel(nil)
	if err == nil {
		l, err = f.searched(steps.Workload{Load: l}, nil)
	}
	if err != nil || l.Duration != time.Minute || l.Requests != 0 || l.Arrival != "poisson" {
		t.Errorf("%+v, %v", l, err)
	}
}
