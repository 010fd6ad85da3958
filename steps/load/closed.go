package load

import (
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// Closed is a closed loop: each user sends a request when the last answer is complete.
const Closed = "closed"

var thinkTime = steps.Attr{Name: "think_time", Type: cty.Number, Unit: steps.UnitDuration,
	Doc: "Time that a user of a closed loop waits after an answer; none unless set."}

func closedArrivals() Arrival {
	return Arrival{
		Name: Closed, Doc: "by max_concurrency users who wait for their answers",
		Takes: steps.Schema{Attrs: []steps.Attr{thinkTime}},
		Check: func(l steps.Load, given func(string) bool) *steps.Problem {
			switch {
			case !given("max_concurrency"):
				return &steps.Problem{Path: []string{arrival.Name}, Summary: "a closed loop needs max_concurrency",
					Detail: "It is the number of users, each sending when its last answer is complete."}
			case l.ThinkTime < 0:
				return &steps.Problem{Path: []string{thinkTime.Name}, Summary: "think_time must not be negative", Detail: "Remove it."}
			}
			return nil
		},
	}
}
