package request

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

// Name is the name of the kind.
const Name = "http"

// Defaults of arguments.
const (
	DefaultTimeout  = 30 * time.Second
	DefaultInterval = time.Second
)

var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

// Kind describes step "http" blocks.
func Kind() steps.Kind {
	return steps.Kind{
		Block: "step", Name: Name,
		Doc: "Sends one HTTP request before the first launch, for example to reserve a machine.",
		Schema: steps.Schema{
			Attrs: []steps.Attr{
				{Name: "url", Type: cty.String, Required: true, Late: true, Doc: "Address to send to, http or https. Secrets belong in headers."},
				{Name: "method", Type: cty.String, Default: cty.StringVal("GET"), Enum: enum.Of(methods...), Doc: "Method of the request."},
				{Name: "headers", Type: cty.Map(cty.String), Sensitive: true, Late: true, Doc: "Headers of the request. Secrets belong here."},
				{Name: "body", Type: cty.DynamicPseudoType, Late: true, Doc: "Body of the request: a string as it is, anything else as JSON."},
				{Name: "expect_status", Type: cty.DynamicPseudoType, Doc: "Status code that means success, or a list of them; every 2xx unless set."},
				{Name: "timeout", Type: cty.Number, Unit: steps.UnitDuration, Default: cty.NumberIntVal(DefaultTimeout.Nanoseconds()),
					Doc: "Longest time of one attempt."},
				{Name: "cache", Type: cty.String, Late: true,
					Doc: "Key under which success is remembered: the step is skipped where the key has succeeded before, and its outputs are taken " +
						"from then."},
				{Name: "outputs", Type: cty.Map(cty.String),
					Doc: "Values to take from a JSON answer: name to JSON pointer, for example { id = \"/data/0/id\" }."},
			},
			Blocks: []steps.BlockSchema{{
				Type: "retry", Max: 1, Doc: "Repeats a request that failed. Answers 4xx other than 408, 425 and 429 are final.",
				Schema: steps.Schema{Attrs: []steps.Attr{
					{Name: "attempts", Type: cty.Number, Default: cty.NumberIntVal(3), Doc: "Number of attempts in all."},
					{Name: "interval", Type: cty.Number, Unit: steps.UnitDuration, Default: cty.NumberIntVal(DefaultInterval.Nanoseconds()),
						Doc: "Time between two attempts."},
				}},
			}},
		},
		Validate: validate,
	}
}

func validate(o steps.Object) []steps.Problem {
	found := validateURL(o)
	if _, err := expected(o); err != nil {
		found = append(found, steps.Problem{Path: []string{"expect_status"}, Summary: err.Error()})
	}
	if o.Known("timeout") && o.Duration("timeout") <= 0 {
		found = append(found, steps.Problem{Path: []string{"timeout"}, Summary: "timeout must be above zero"})
	}
	if m := o.Text("method"); o.Has("body") && (m == "GET" || m == "HEAD") {
		found = append(found, steps.Problem{Path: []string{"body"}, Summary: m + " sends no body", Detail: `Set method = "POST".`})
	}
	for _, r := range o.Blocks["retry"] {
		if r.Known("attempts") && (r.Float("attempts") < 1 || r.Float("attempts") != float64(r.Int("attempts"))) {
			found = append(found, steps.Problem{Path: []string{"retry", "attempts"}, Summary: "attempts must be a whole number above zero"})
		}
		if r.Known("interval") && r.Duration("interval") < 0 {
			found = append(found, steps.Problem{Path: []string{"retry", "interval"}, Summary: "interval must not be negative"})
		}
	}
	pointers, err := o.Env("outputs")
	if err != nil && o.Known("outputs") {
		found = append(found, steps.Problem{Path: []string{"outputs"}, Summary: err.Error()})
	}
	for _, p := range pointers {
		if err := checkPointer(p.Value); err != nil {
			found = append(found, steps.Problem{Path: []string{"outputs", p.Name}, Summary: err.Error()})
		}
	}
	return found
}

func validateURL(o steps.Object) []steps.Problem {
	if !o.Known("url") {
		return nil
	}
	u, err := url.Parse(o.Text("url"))
	switch {
	case err != nil || u.Host == "" || !slices.Contains([]string{"http", "https"}, u.Scheme):
		return []steps.Problem{{
			Path: []string{"url"}, Summary: "url must be an http or https address",
			Detail: "For example https://lab.example/reserve.",
		}}
	case u.User != nil:
		return []steps.Problem{{
			Path: []string{"url"}, Summary: "url must not hold a user or a password",
			Detail: "They would be shown in logs. Send them in headers.",
		}}
	}
	return nil
}

// expected returns the status codes that mean success, nil for every 2xx.
func expected(o steps.Object) ([]int, error) {
	texts, err := o.Texts("expect_status")
	if err != nil {
		return nil, err
	}
	var codes []int
	for _, t := range texts {
		var code int
		if _, err := fmt.Sscanf(t, "%d", &code); err != nil || fmt.Sprint(code) != t || code < 100 || code > 599 {
			return nil, fmt.Errorf("expect_status: %q is not a status code from 100 to 599", t)
		}
		codes = append(codes, code)
	}
	return codes, nil
}
