package item

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
)

// MaxDigits is the number of significant digits that DynamoDB keeps.
const MaxDigits = 38

// ErrNumber says that a text is not a number that DynamoDB can store exactly.
var ErrNumber = errors.New(badNumber)

// Decimal is an exact decimal number: Mant × 10^Exp.
type Decimal struct {
	Mant *big.Int
	Exp  int
}

// short reports whether text is a number of at most 18 digits without an exponent. DynamoDB can store every such number, and
// as a whole number it fits an int64.
func short(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || len(digits) > 18 {
		return false
	}
	for i := range len(digits) {
		if c := digits[i]; (c < '0' || c > '9') && (c != '.' || i == 0) {
			return false
		}
	}
	return strings.Count(digits, ".") <= 1
}

// ParseDecimal reads a number in DynamoDB's text form. It returns ErrNumber for infinities, NaN, and a magnitude or
// precision that DynamoDB cannot store.
func ParseDecimal(text string) (Decimal, error) {
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		n, err := strconv.Atoi(text[i+1:])
		if err != nil || n > 1000 || n < -1000 {
			return Decimal{}, ErrNumber
		}
		mantissa, exponent = text[:i], n
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole, "+-") + fraction
	if digits == "" || len(whole)-len(strings.TrimLeft(whole, "+-")) > 1 || strings.Trim(digits, "0123456789") != "" || len(digits) > 400 {
		return Decimal{}, ErrNumber
	}
	significant := strings.Trim(digits, "0") // so that equal numbers have equal fields
	if significant == "" {
		return Decimal{new(big.Int), 0}, nil
	}
	exp := exponent - len(fraction) + len(digits) - len(strings.TrimRight(digits, "0"))
	if n := len(significant); n > MaxDigits || n+exp-1 > 125 || n+exp-1 < -130 {
		return Decimal{}, ErrNumber
	}
	mant, _ := new(big.Int).SetString(significant, 10)
	if strings.HasPrefix(whole, "-") {
		mant.Neg(mant)
	}
	return Decimal{mant, exp}, nil
}

// Add returns d + o exactly, or ErrNumber if the sum needs more digits than DynamoDB keeps.
func (d Decimal) Add(o Decimal) (Decimal, error) {
	a, b := d.align(o)
	return ParseDecimal(Decimal{new(big.Int).Add(a.Mant, b.Mant), a.Exp}.String())
}

// Cmp compares the values of d and o, like [cmp.Compare].
func (d Decimal) Cmp(o Decimal) int {
	a, b := d.align(o)
	return a.Mant.Cmp(b.Mant)
}

func (d Decimal) align(o Decimal) (Decimal, Decimal) {
	exp := min(d.Exp, o.Exp)
	scale := func(x Decimal) Decimal {
		f := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(x.Exp-exp)), nil)
		return Decimal{f.Mul(f, x.Mant), exp}
	}
	return scale(d), scale(o)
}

// String returns plain decimal text without an exponent.
func (d Decimal) String() string {
	if d.Exp >= 0 {
		text := d.Mant.String()
		if d.Mant.Sign() == 0 {
			return text
		}
		return text + strings.Repeat("0", d.Exp)
	}
	digits, sign := new(big.Int).Abs(d.Mant).String(), ""
	if d.Mant.Sign() < 0 {
		sign = "-"
	}
	if pad := -d.Exp - len(digits) + 1; pad > 0 {
		digits = strings.Repeat("0", pad) + digits
	}
	point := len(digits) + d.Exp
	return sign + digits[:point] + "." + digits[point:]
}
