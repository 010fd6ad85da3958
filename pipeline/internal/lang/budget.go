package lang

import (
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// budgetSchema describes the budget block.
func budgetSchema() steps.Schema {
	return steps.Schema{Attrs: []steps.Attr{
		{Name: "gpu_time", Type: cty.Number, Rule: steps.AboveZero, Unit: steps.UnitDuration,
			Doc: "GPU time that launches may hold, as \"2h\" for two GPU-hours: one GPU for two hours, or eight for a quarter of one."},
		{Name: "time", Type: cty.Number, Rule: steps.AboveZero, Unit: steps.UnitDuration, Doc: "Time that the run may take."},
		{Name: "cost", Type: cty.String, Doc: "Money that the run may cost, with its currency, as \"20 USD\". It needs a price."},
	}}
}

// readBudget reads a budget block and checks it beyond types. price is nil if the file has none.
func readBudget(o steps.Object, price *config.Price) (*config.Budget, []steps.Problem) {
	s := &config.Budget{GPUTime: o.Duration("gpu_time"), Time: o.Duration("time")}
	found := budgetSchema().Check(o)
	if !o.Has("gpu_time") && !o.Has("time") && !o.Has("cost") {
		found = append(found, steps.Problem{Summary: "the budget block sets no limit",
			Detail: "Say how much a run may take: gpu_time = \"2h\", time or cost."})
	}
	if !o.Known("cost") {
		return s, found
	}
	wrong := func(summary, detail string) {
		found = append(found, steps.Problem{Path: []string{"cost"}, Summary: summary, Detail: detail})
	}
	var err error
	switch s.Cost, err = ParseMoney(o.Text("cost")); {
	case err != nil:
		wrong("cost must be an amount of money", err.Error())
	case s.Cost.Value <= 0:
		wrong("cost must be above zero", "")
	case price == nil:
		wrong("cost needs a price", "Say what machines cost by a price block beside the budget.")
	case price.Currency != "" && price.Currency != s.Cost.Currency:
		wrong("cost has another currency than the price", "The price is in "+price.Currency+". Write both in one.")
	}
	return s, found
}
