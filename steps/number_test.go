package steps_test

import (
	"math/big"
	"testing"

	"github.com/servegate/pipeline/steps"
)

func TestNumberText(t *testing.T) {
	quo := func(a, b int64) *big.Float {
		return new(big.Float).SetPrec(512).Quo(new(big.Float).SetPrec(512).SetInt64(a), new(big.Float).SetPrec(512).SetInt64(b))
	}
	parse := func(s string) *big.Float {
		f, _, err := big.ParseFloat(s, 10, 512, big.ToNearestEven)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for want, n := range map[string]*big.Float{
		"0": parse("0"), "8": parse("8"), "-3": parse("-3"), "0.9": parse("0.9"), "12.5": quo(25, 2), "0.3333333333333333": quo(1, 3),
		"0.2":               quo(1, 5),
		"66.66666666666667": quo(200, 3), "1000000000000": parse("1e12"), "18446744073709551615": parse("18446744073709551615"),
		"1e+21": parse("1e21"), "1e-07": parse("1e-7"), "0.000001": parse("0.000001"),
	} {
		if got := steps.NumberText(n); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
