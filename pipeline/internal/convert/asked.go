package convert

import (
	"math"
	"slices"
	"strings"
)

// requestsOf returns how many requests a load generator sends for a number of prompts, and false if
// its arguments do not determine it. Several prompts may share a request, and some data sets have a
// fixed number.
func (r *Run) requestsOf(prompts int) (int, bool) {
	switch datasetPrefix(r.Params["dataset_name"]) {
	case "gsp": // --num-prompts has no effect
		groups, okGroups := r.countParam("gsp_num_groups")
		each, okEach := r.countParam("gsp_prompts_per_group")
		return groups * each, okGroups && okEach
	case "prefix_repetition": // the same number for each prefix
		prefixes, ok := r.countParam("prefix_repetition_num_prefixes")
		if !ok {
			prefixes = 10
		}
		return prompts / prefixes * prefixes, true
	}
	if slices.ContainsFunc([]string{"no_oversample", "disable_oversample"}, func(key string) bool { return r.Params[key] == "true" }) {
		return 0, false // the size of the data set
	}
	if size, ok := r.countParam("random_batch_size"); ok {
		return (prompts + size - 1) / size, true
	}
	return prompts, true
}

// countParam returns a parameter that is a positive integer of at most 2^20.
func (r *Run) countParam(key string) (int, bool) {
	text, _ := r.Param(key)
	n, err := parseCount(text)
	return int(n), err == nil && n > 0 && n <= 1<<20
}

// allPromptsSent reports whether the tokens of a result are those of all its prompts, although it
// has fewer requests: several prompts shared one.
func (r *Run) allPromptsSent(prompts int) bool {
	label, _ := r.Param("input_len")
	length, err := parseNumber(label, 0)
	if err != nil || r.Counts.InputTokens == 0 || r.Counts.Succeeded == 0 || length <= 0 {
		return false
	}
	each := float64(r.Counts.InputTokens) / float64(prompts)
	perRequest := float64(r.Counts.InputTokens) / float64(r.Counts.Succeeded)
	return math.Abs(each-length) <= 0.1*length && math.Abs(perRequest-length) > 0.1*length
}

// countFailures computes the failures of a result whose tool reports none: requests asked for less
// successes. If the number of requests is not known, the failures are not known either.
func (r *Run) countFailures(prompts int) {
	c := &r.Counts
	asked, ok := r.requestsOf(prompts)
	switch {
	case asked == prompts && asked > c.Succeeded && r.allPromptsSent(prompts):
		r.warnf("%d requests had the tokens of all %d prompts: several shared a request, and how many failed is not known", c.Succeeded, prompts)
		return
	case !ok && prompts != c.Succeeded:
		r.warnf("how many requests failed is not known: the tool reports no failures, and its data set makes a number of requests of its own")
		return
	case !ok || asked < c.Succeeded:
		return
	}
	c.Sent, c.Failed, c.FailedKnown = asked, asked-c.Succeeded, true
	if c.Failed > 0 {
		r.seriousf("%d of %d requests did not succeed: the tool reports no failures, this is num_prompts less the successes", c.Failed, c.Sent)
	}
}

// successesOf splits "9/10" or "9/10 (90.00%)" into the successful requests and all requests.
func successesOf(text string) (done, all string, ok bool) {
	done, all, ok = strings.Cut(text, "/")
	all, _, _ = strings.Cut(all, "(")
	done, all = strings.TrimSpace(done), strings.TrimSpace(all)
	return done, all, ok && isNumber(done) && isNumber(all)
}
