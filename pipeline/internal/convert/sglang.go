package convert

import "slices"

// sglangNative reports whether requests went to SGLang's own endpoint. Each gap then counts once
// per token, otherwise once per chunk, as in vLLM.
func sglangNative(r *Run) bool {
	return slices.Contains([]string{"", "sglang", "sglang-native"}, r.Params["backend"])
}

// sglangCache reads the share of prompts that the server had in its cache.
func sglangCache(root, _ *value, r *Run, _ *entryList) error {
	if hit, ok := root.at("cache_report/cache_hit_rate_pct").number(); ok {
		r.audit("prefix_hit_rate", hit/100)
	}
	return nil
}

// sglangGroup returns the group of a figure of SGLang's client.
func sglangGroup(r *Run, group string) string {
	if group == "itl" && sglangNative(r) {
		return "itl_token"
	}
	return group
}
