package result

// Thin keeps at most n points, evenly spaced, including the first and the last.
func (s *Series) Thin(n int) {
	if len(s.T) <= n || n < 2 {
		return
	}
	t, v := make([]float64, n), make([]float64, n)
	for i := range n {
		k := i * (len(s.T) - 1) / (n - 1)
		t[i], v[i] = s.T[k], s.V[k]
	}
	s.T, s.V = t, v
}
