package engine

import "github.com/servegate/pipeline/steps"

// warmed is a workload whose warm-up, if it has one, reaches every server of the target, and
// every pair of a prefill and a decode server: the router sends that many requests in a row
// to other ones. What a pair does only once, such as connecting for KV transfers, is then
// over before the first measured request.
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
