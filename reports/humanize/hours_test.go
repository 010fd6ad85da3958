package humanize_test

import (
	"testing"

	"github.com/servegate/pipeline/reports/humanize"
)

func TestHoursAndMoney(t *testing.T) {
	for hours, want := range map[float64]string{27.3: "27", 2.84: "2.8", 0.851: "0.85", 0.0123: "0.012"} {
		if got := humanize.Hours(hours); got != want {
			t.Errorf("%g hours are %q, want %q", hours, got, want)
		}
	}
	for amount, want := range map[float64]string{0: "0.00 USD", 0.001: "less than 0.01 USD", 0.005: "0.01 USD", 12.345: "12.35 USD"} {
		if got := humanize.Money(amount, "USD"); got != want {
			t.Errorf("%g is %q, want %q", amount, got, want)
		}
	}
}
