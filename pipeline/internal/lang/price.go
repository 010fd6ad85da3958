package lang

import (
	"fmt"
	"math"
	"strconv"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// priceSchema describes the price block.
func priceSchema() steps.Schema {
	return steps.Schema{Attrs: []steps.Attr{
		{Name: "gpu_hour", Type: cty.String, Doc: "Price of one GPU for an hour, with its currency: \"2.50 USD\"."},
		{Name: "machine_hour", Type: cty.String,
			Doc: "Price of one machine for an hour, with its currency, such as a machine without GPUs. Where both are set both are charged."},
	}}
}

// readPrice reads a price block and checks it beyond types.
func readPrice(o steps.Object) (*config.Price, []steps.Problem) {
	p := new(config.Price)
	found := priceSchema().Check(o)
	declared := false
	for _, a := range []struct {
		name string
		into *float64
	}{{"gpu_hour", &p.GPUHour}, {"machine_hour", &p.MachineHour}} {
		text := o.Text(a.name)
		if !o.Known(a.name) {
			continue
		}
		declared = true
		amount, err := ParseMoney(text)
		switch {
		case err != nil:
			found = append(found, steps.Problem{Path: []string{a.name}, Summary: a.name + " is not a valid price", Detail: err.Error()})
			continue
		case p.Currency != "" && p.Currency != amount.Currency:
			found = append(found, steps.Problem{Path: []string{a.name}, Summary: "the prices have two currencies",
				Detail: fmt.Sprintf("gpu_hour is in %s and machine_hour in %s, and what they add up to would have none. Write both in one.",
					p.Currency, amount.Currency)})
		}
		*a.into, p.Currency = amount.Value, amount.Currency
	}
	if !declared {
		found = append(found, steps.Problem{Summary: "the price block has no price",
			Detail: "Say what an hour costs: gpu_hour = \"2.50 USD\", or machine_hour for machines without GPUs."})
	}
	return p, found
}

// moneyForm matches a number and an optional currency, with or without a space between them.
var moneyForm = lazyregexp.New(`^\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Z]{3})?\s*$`)

// ParseMoney reads an amount with its currency: "2.50 USD".
func ParseMoney(text string) (config.Money, error) {
	parts := moneyForm.FindStringSubmatch(text)
	if parts == nil {
		return config.Money{},
			fmt.Errorf("%q is not an amount of money. Write a number and the three letters of its currency: \"2.50 USD\"", text)
	}
	if parts[2] == "" {
		return config.Money{}, fmt.Errorf("%q has no currency. Write its three letters behind the number: \"%s USD\"", text, parts[1])
	}
	value, err := strconv.ParseFloat(parts[1], 64)
	if err != nil || math.IsInf(value, 0) {
		return config.Money{}, fmt.Errorf("%q is too large", text)
	}
	return config.Money{Value: value, Currency: parts[2]}, nil
}
