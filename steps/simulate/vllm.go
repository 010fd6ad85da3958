package simulate

import "net/http"

// routesVLLM are the endpoints of vLLM beside the OpenAI ones.
func (s *Server) routesVLLM(mux *http.ServeMux) {
	ok := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }
	mux.HandleFunc("GET /health", ok)
	mux.HandleFunc("/ping", ok)
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"version": s.launch.version})
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		st := s.driver.snapshot()
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_ = s.stats.writeVLLM(w, s.launch, st, s.driver.late, s.kv) // the client is gone if this fails
	})
	if !s.launch.devMode {
		return
	}
	mux.HandleFunc("POST /reset_prefix_cache", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]bool{"success": s.driver.resetPrefixCache()})
	})
	mux.HandleFunc("GET /server_info", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{"vllm_config": s.resolved()})
	})
}

// resolved is the configuration after all defaults, for people and fingerprints.
func (s *Server) resolved() map[string]any {
	l, c := s.launch, s.launch.config
	return map[string]any{
		"model": l.model, "served_model_name": l.served, "max_model_len": c.MaxModelLen, "tensor_parallel_size": c.GPUs,
		"max_num_seqs": c.MaxSeqs, "max_num_batched_tokens": c.Budget, "enable_chunked_prefill": c.Chunked,
		"enable_prefix_caching": c.PrefixCache, "block_size": c.BlockSize, "num_gpu_blocks": c.KVBlocks,
		"enforce_eager": l.eager, "device": c.Profile.Device, "simulated": true,
	}
}
