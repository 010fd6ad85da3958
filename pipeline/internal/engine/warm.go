package engine

import "github.com/servegate/pipeline/steps"

// warmed returns a workload whose warm-up, if it has one, reaches every server of the target and every pair of a
// prefill and a decode server. The router distributes consecutive requests over all of them. So one-time work of a
// pair, such as connecting for KV transfers, is done before the first measured request.
func warmed(w steps.Workload, servers []*member) steps.Workload {
	if w.Warmup == 0 {
		return w
	}
	prefill, decode := 0, 0
	for _, m := range servers {
		switch m.Role {
		case steps.RoleProducer:
			prefill++
		case steps.RoleConsumer:
			decode++
		}
	}
	w.Warmup = max(w.Warmup, len(servers), prefill*decode)
	return w
}
