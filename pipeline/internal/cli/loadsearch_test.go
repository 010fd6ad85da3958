package cli

import (
	"strings"
	"testing"

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
	} {
		f := loadFlags{search: tt.search, burstiness: 1}
		if tt.slo != "" {
			f.slo = strings.Split(tt.slo, ",")
		}
		if _, err := f.searched(steps.Workload{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("--search %s --slo %s: %v, want %q", tt.search, tt.slo, err, tt.want)
		}
	}
}
