package gates

import (
	"errors"
	"fmt"
	"slices"
)

// Looks are the numbers of repeats after which a sequence is judged, ascending.
type Looks []int

// LooksBetween returns the looks of a sequence of least to most repeats: at the even numbers
// between them, and at most. If least = most there is one look.
func LooksBetween(least, most int) Looks {
	var l Looks
	for n := least + least%2; n < most; n += 2 {
		l = append(l, n)
	}
	return append(l, most)
}

// check returns an error if the looks are not positive and ascending.
func (l Looks) check() error {
	if len(l) == 0 {
		return errors.New("a sequence without looks decides nothing; use LooksBetween")
	}
	for k, n := range l {
		if n < 1 || k > 0 && n <= l[k-1] {
			return fmt.Errorf("looks %v must be positive and ascending", []int(l))
		}
	}
	return nil
}

// Level returns the nominal one-sided level of the k-th look, from 0, if members comparisons share
// the overall level alpha by Holm's procedure. It is compared with Holm's adjusted p value. This
// limits the probability of a false regression, over all looks, to alpha.
//
// Alpha, less a reserve, is spent linearly in the repeats (K. K. G. Lan and D. L. DeMets,
// Biometrika 70, 1983): after n of N repeats n/N of it is spent. A flat level would spend most of
// it early, when few pairs decide little. The levels come from the joint distribution of the t
// statistics after 4, 6, 8, … pairs. They depend on alpha/members, because smaller levels make
// looks less alike. Sequences that begin later or look more often make looks more alike, which errs
// on the safe side. Sequences that begin with 2 or 3 pairs have their own table. The level is
// shared equally (Bonferroni) for looks more than 2 pairs apart, for more than ten looks (eight, if
// they begin early), and for levels below 1e-4.
//
// For 0.05, one comparison and five looks the levels are 0.0153, 0.0108, 0.0121, 0.0140 and 0.0163.
func (l Looks) Level(k int, alpha float64, members int) float64 {
	if len(l) == 1 {
		return alpha
	}
	return (1 - reserve) * alpha * l.spent(alpha / float64(max(members, 1)))[k]
}

// reserve is the part of alpha that the planned looks leave for repeats that are added when the
// sequence ends undecided.
const reserve = 0.08

// Last returns the level of the last look.
func (l Looks) Last(alpha float64, members int) float64 {
	return l.Level(len(l)-1, alpha, members)
}

// spent returns the nominal levels of the looks, divided by the overall level alpha of one
// comparison.
func (l Looks) spent(alpha float64) []float64 {
	for _, row := range l.table() {
		if alpha >= row.least {
			return row.byLooks[len(l)-1]
		}
	}
	return slices.Repeat([]float64{1 / float64(len(l))}, len(l))
}

// table returns the table whose looks are at least as different as these, nil if there is none.
func (l Looks) table() []spent {
	for k, n := range l[1:] {
		if n-l[k] > 2 {
			return nil
		}
	}
	for _, t := range spendings {
		if l[0] >= t.from && len(l) <= len(t.rows[0].byLooks) {
			return t.rows
		}
	}
	return nil
}

// spent is a row of a table of levels, by number of looks: nominal levels divided by the overall
// level, for overall levels from least upwards.
type spent struct {
	least   float64
	byLooks [][]float64
}

// spendings are the tables for looks after 4, 6, 8, … and after 2, 4, 6, … pairs, rounded down.
// TestSpendingFollowsFromTheJointLaw verifies them; testdata/looks.py simulates that law.
var spendings = []struct {
	from int // pairs at the first look
	rows []spent
}{{4, spending}, {2, earlySpending}}

// earlySpending begins after 2 pairs, which only a known spread makes worthwhile. Levels below an
// equal share of the overall level are rounded up to it: the sum of all levels bounds the error.
var earlySpending = []spent{
	{0.02, [][]float64{
		{1},
		{0.5, 0.546},
		{0.333, 0.358, 0.439},
		{0.25, 0.262, 0.319, 0.392},
		{0.2, 0.209, 0.25, 0.305, 0.365},
		{0.166, 0.174, 0.205, 0.248, 0.297, 0.348},
		{0.142, 0.149, 0.173, 0.21, 0.249, 0.291, 0.335},
		{0.125, 0.132, 0.15, 0.18, 0.214, 0.249, 0.286, 0.325},
	}},
	{0.0025, [][]float64{
		{1},
		{0.5, 0.51},
		{0.333, 0.335, 0.376},
		{0.25, 0.257, 0.278, 0.32},
		{0.2, 0.203, 0.221, 0.253, 0.289},
		{0.166, 0.167, 0.182, 0.207, 0.239, 0.271},
		{0.142, 0.143, 0.156, 0.176, 0.201, 0.23, 0.257},
		{0.125, 0.123, 0.135, 0.154, 0.175, 0.198, 0.222, 0.246},
	}},
	{0.0005, [][]float64{
		{1},
		{0.5, 0.51},
		{0.333, 0.333, 0.356},
		{0.25, 0.25, 0.265, 0.293},
		{0.2, 0.2, 0.21, 0.233, 0.258},
		{0.166, 0.166, 0.175, 0.191, 0.213, 0.238},
		{0.142, 0.142, 0.152, 0.164, 0.182, 0.203, 0.225},
		{0.125, 0.125, 0.131, 0.142, 0.158, 0.175, 0.194, 0.213},
	}},
	{0.0001, [][]float64{
		{1},
		{0.5, 0.51},
		{0.333, 0.333, 0.346},
		{0.25, 0.25, 0.257, 0.28},
		{0.2, 0.2, 0.202, 0.22, 0.24},
		{0.166, 0.166, 0.169, 0.185, 0.198, 0.217},
		{0.142, 0.142, 0.144, 0.157, 0.171, 0.184, 0.202},
		{0.125, 0.125, 0.128, 0.137, 0.149, 0.16, 0.175, 0.192},
	}},
}

var spending = []spent{
	{0.02, [][]float64{
		{1},
		{0.666, 0.511},
		{0.5, 0.369, 0.417},
		{0.4, 0.287, 0.323, 0.377},
		{0.333, 0.235, 0.262, 0.305, 0.354},
		{0.285, 0.198, 0.221, 0.256, 0.296, 0.34},
		{0.25, 0.17, 0.189, 0.22, 0.254, 0.29, 0.328},
		{0.222, 0.15, 0.166, 0.192, 0.222, 0.253, 0.286, 0.32},
		{0.2, 0.134, 0.147, 0.17, 0.196, 0.224, 0.253, 0.283, 0.313},
		{0.181, 0.121, 0.132, 0.153, 0.177, 0.201, 0.227, 0.253, 0.28, 0.307},
	}},
	{0.0025, [][]float64{
		{1},
		{0.666, 0.415},
		{0.5, 0.3, 0.33},
		{0.4, 0.239, 0.259, 0.293},
		{0.333, 0.199, 0.212, 0.24, 0.272},
		{0.285, 0.169, 0.18, 0.203, 0.23, 0.257},
		{0.25, 0.146, 0.157, 0.176, 0.199, 0.223, 0.247},
		{0.222, 0.128, 0.138, 0.155, 0.174, 0.195, 0.218, 0.24},
		{0.2, 0.114, 0.123, 0.139, 0.155, 0.174, 0.193, 0.213, 0.233},
		{0.181, 0.103, 0.112, 0.125, 0.14, 0.158, 0.173, 0.192, 0.209, 0.228},
	}},
	{0.0005, [][]float64{
		{1},
		{0.666, 0.37},
		{0.5, 0.278, 0.295},
		{0.4, 0.223, 0.234, 0.259},
		{0.333, 0.188, 0.192, 0.214, 0.238},
		{0.285, 0.162, 0.165, 0.182, 0.202, 0.224},
		{0.25, 0.138, 0.142, 0.158, 0.175, 0.194, 0.213},
		{0.222, 0.119, 0.126, 0.14, 0.154, 0.171, 0.188, 0.205},
		{0.2, 0.106, 0.114, 0.125, 0.138, 0.153, 0.168, 0.183, 0.2},
		{0.181, 0.095, 0.104, 0.113, 0.124, 0.138, 0.151, 0.165, 0.18, 0.192},
	}},
	{0.0001, [][]float64{
		{1},
		{0.666, 0.349},
		{0.5, 0.266, 0.281},
		{0.4, 0.22, 0.221, 0.241},
		{0.333, 0.179, 0.184, 0.199, 0.217},
		{0.285, 0.149, 0.156, 0.171, 0.183, 0.201},
		{0.25, 0.128, 0.136, 0.149, 0.16, 0.175, 0.191},
		{0.222, 0.113, 0.121, 0.131, 0.141, 0.154, 0.168, 0.184},
		{0.2, 0.103, 0.108, 0.116, 0.127, 0.138, 0.15, 0.163, 0.176},
		{0.181, 0.093, 0.098, 0.105, 0.115, 0.125, 0.137, 0.147, 0.161, 0.169},
	}},
}
