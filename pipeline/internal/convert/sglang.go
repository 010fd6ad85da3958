package convert

// convertSGLang reads an object that sglang.bench_serving appends to its --output-file.
func convertSGLang(root *node, d *columns, r Run, opt ReadOptions) (Run, error) {
	r.Format, r.Tool = FormatSGLang, toolSGLang
	r.serverInfo(root.get("server_info"))
	entries := r.scalars(root)
	if hit, ok := root.get("cache_report", "cache_hit_rate_pct").number(); ok {
		r.audit("prefix_hit_rate", hit/100)
	}
	if err := r.fill(entries); err != nil {
		return r, err
	}
	if d.large {
		r.warnf("more requests than are kept: the figures are the file's own")
		return r, nil
	}
	if !d.detailed() {
		return r, nil
	}
	// The list of gaps of the native endpoint has one per token: vLLM's, one per event,
	// is not in the file. Sending times are not either.
	if r.sglangITL() == "itl_token" {
		return r, r.useRecords(d, opt, []string{"itl"})
	}
	return r, r.useRecords(d, opt, nil)
}

// serverInfo keeps what the server said of itself: SGLang's files are the only ones that
// have it.
func (r *Run) serverInfo(info *node) {
	if info == nil || info.kind != '{' {
		return
	}
	const limit = 300
	for i, key := range info.keys {
		if text := info.items[i].str(); text != "" && i < limit {
			r.setParam("server_"+key, text)
		}
	}
	if model := info.get("model_path").str(); model != "" {
		r.setParam("model", model)
	}
}
