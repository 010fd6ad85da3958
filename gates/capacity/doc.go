// Package capacity finds the load at which a service level objective (SLO) just holds, from probes
// at single loads, each with its headroom: the logarithm of how far the worst objective is from
// its limit, positive within it.
//
// Around the capacity the headroom is a falling line in the logarithm of the load, with noise: percentiles
// of so many requests vary from draw to draw. Capacity, slope and noise are unknown, and so is whether the line
// bends there: a knee, where a queue grows beyond it, its contrary, where a queue is as long as the probe lets it
// grow, or a jump, where latency leaps. A search that knows of no bend finds a capacity at one too exactly, and
// beside it. Their joint posterior is kept on a grid. It is monotone by construction, since slopes
// only fall. Little is assumed of the noise, so the interval keeps its coverage on quiet and on noisy servers. After
// few probes the interval can be narrow by chance, so it must be narrower still to end a search early. How far a line
// is wrong grows with the distance from the capacity, so a probe counts the less the further its headroom is from 0,
// and beyond Clip it says no more than on which side the capacity is: a server that is overloaded has latencies that
// measure the length of the probe.
//
// The next load is the median of the posterior, where a probe says most; never more than Growth
// times what has held, so that a search does not begin by driving a server far into overload.
//
//	Horstein, Sequential transmission using noiseless feedback, IEEE Trans. Inf. Theory 9 (1963) 136–143:
//	    ask where half of the posterior lies on either side.
//	Waeber, Frazier and Henderson, Bisection search with noisy responses, SIAM J. Control Optim.
//	    51 (2013) 2261–2279: probabilistic bisection converges geometrically.
//	Wu, Efficient sequential designs with binary data, JASA 80 (1985) 974–984: the next level is the
//	    root of the model fitted so far.
//
// Rejected: bisection by the verdicts alone, which never takes a wrong turn back and learns
// nothing from how far a probe was from the limit; an isotonic fit, whose root has no interval for
// so few points.
//
// What is promised of its errors is simulated (docs/statistics.md).
package capacity
