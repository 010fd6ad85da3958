package humanize

import "fmt"

// Hours is a number of hours with two digits at least: "0.42", "5.6", "27".
func Hours(hours float64) string {
	digits := 0
	for limit := 10.0; hours < limit && digits < 3; limit /= 10 {
		digits++
	}
	return fmt.Sprintf("%.*f", digits, hours)
}

// Money is an amount with its currency. What is below a hundredth is not rounded to nothing.
func Money(amount float64, currency string) string {
	if amount > 0 && amount < 0.005 {
		return "less than 0.01 " + currency
	}
	return fmt.Sprintf("%.2f %s", amount, currency)
}
