// Package culprit finds which of an ordered list of candidates made a metric worse, from noisy
// differences between candidates and the good end of the list.
//
// Candidate 0 is the good end, Candidates the bad one. Each probe is the difference of one pair, a
// candidate against the good end, so that drift between probes cancels. The hypotheses are that the
// level has no step, one step, or two: two changes, or one that was partly undone. Under each the
// differences are normal about the levels of the segments. The first level is 0; the others and the
// variance are unknown and integrated out, which leaves arithmetic on sums of squares.
//
//	Horstein, Sequential transmission using noiseless feedback, IEEE Trans. Inf. Theory 9 (1963) 136–143:
//	    ask where half of the posterior lies on either side.
//	Burnashev and Zigangirov, An interval estimation problem for controlled observations,
//	    Problems of Information Transmission 10 (1974) 223–231: the same on a grid, with its rate.
//	Karp and Kleinberg, Noisy binary search and its applications, SODA 2007, 881–890: answers
//	    whose error rates differ and are not known beforehand.
//	Waeber, Frazier and Henderson, Bisection search with noisy responses, SIAM J. Control Optim.
//	    51 (2013) 2261–2279: probabilistic bisection converges geometrically.
//	MacKay, Information-based objective functions for active data selection, Neural Computation 4
//	    (1992) 590–604: ask where the hypotheses disagree most, which for one step is Horstein's median.
//	Chipman, George and McCulloch, The practical implementation of Bayesian model selection, IMS
//	    Lecture Notes 38 (2001) 65–116: normal levels with a variance in proportion to that of the noise.
//
// A posterior decides instead of a test at each candidate, because wrong turns must be counted and
// corrected: n tests at a fixed level are wrong n times as often, and a binary search never goes
// back. Its error rates are simulated (docs/evidence/error-rates.md).
package culprit
