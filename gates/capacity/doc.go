// Package capacity finds the load at which a service level objective (SLO) just holds. It uses
// probes at single loads, each with its headroom: the logarithm of the distance of the worst
// objective from its limit, positive within it.
//
// Around the capacity the headroom is a falling line in the logarithm of the load, with noise:
// percentiles of a number of requests vary between draws. Capacity, slope and noise are unknown.
// The line may also bend there. A knee means that a queue grows beyond it. The opposite of a knee
// means that a queue is as long as the probe lets it grow. A jump means that latency leaps. A
// search that ignores bends would report a wrong capacity with too narrow an interval. The joint
// posterior is kept on a grid. It is monotone by construction, because slopes only fall. It assumes
// little about the noise, so the interval keeps its coverage on quiet and on noisy servers.
//
// After few probes the interval can be narrow by chance, so it must be narrower still to end a
// search early. The error of a line grows with the distance from the capacity, so a probe counts
// less the further its headroom is from 0. Beyond Clip it only shows on which side the capacity is:
// the latencies of an overloaded server measure the length of the probe.
//
// The next load is the median of the posterior, where a probe is most informative. It is at most
// Growth times the highest load that held, so that a search does not start with a heavy overload.
//
//	Horstein, Sequential transmission using noiseless feedback, IEEE Trans. Inf. Theory 9 (1963) 136–143:
//	    ask where half of the posterior lies on either side.
//	Waeber, Frazier and Henderson, Bisection search with noisy responses, SIAM J. Control Optim.
//	    51 (2013) 2261–2279: probabilistic bisection converges geometrically.
//	Wu, Efficient sequential designs with binary data, JASA 80 (1985) 974–984: the next level is the
//	    root of the model fitted so far.
//
// Rejected: bisection by the verdicts alone, which never corrects a wrong turn and does not use how
// far a probe was from the limit; an isotonic fit, whose root has no interval for so few points.
//
// Its error rates are simulated (docs/evidence/error-rates.md).
package capacity
