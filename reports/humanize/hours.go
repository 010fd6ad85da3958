package humanize

import "fmt"

// Hours formats a number of hours with at least two digits: "0.42", "5.6", "27".
func Hours(hours float64) string {
	digits := 0
	for limit := 10.0; hours < limit && digits < 3; limit /= 10 {
		digits++
	}
	return fmt.Sprintf("%.*f", digits, hours)
}

// Money formats an amount with its currency. Amounts below half a hundredth are not rounded to
// zero.
func Money(amount float64, currency string) string {
	if amount > 0 && amount < 0.005 {
		return "less than 0.01 " + currency
	}
	return fmt.Sprintf("%.2f %s", amount, currency)
}
