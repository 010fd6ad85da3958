package function

import (
	"fmt"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// The values are parsed from decimals, as literals are, so that duration("800ms") == 0.8.
var (
	durationFunc = fromString("duration", func(s string) (cty.Value, error) {
		d, err := Duration(s)
		if err != nil {
			return cty.NilVal, err
		}
		return cty.ParseNumberVal(fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second))
	})
	bytesFunc = fromString("size", func(s string) (cty.Value, error) {
		n, err := Bytes(s)
		if err != nil {
			return cty.NilVal, err
		}
		return cty.NumberIntVal(n), nil
	})
	percentFunc = fromString("percentage", func(s string) (cty.Value, error) {
		num, err := percentNumber(s)
		if err != nil {
			return cty.NilVal, err
		}
		return cty.ParseNumberVal(num + "e-2")
	})
)

// fromString is a function of one string to a number.
func fromString(param string, parse func(string) (cty.Value, error)) function.Function {
	return function.New(&function.Spec{
		Params:       []function.Parameter{{Name: param, Type: cty.String}},
		Type:         function.StaticReturnType(cty.Number),
		RefineResult: notNull,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, err := parse(args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			return v, nil
		},
	})
}

func notNull(b *cty.RefinementBuilder) *cty.RefinementBuilder { return b.NotNull() }
