package convert

// llamaBenchTest names the throughput of a test by what it computes: a prompt, an answer, or both.
func llamaBenchTest(_, item *value, _ *Run, e *entryList) error {
	prompt, _ := item.at("n_prompt").number()
	answer, _ := item.at("n_gen").number()
	label := "total throughput"
	switch {
	case answer == 0:
		label = "input throughput"
	case prompt == 0:
		label = "output throughput"
	}
	e.add(label, item.at("avg_ts"))
	return nil
}
