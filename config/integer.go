package config

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// MaxDigits is the largest number of digits of an integer in an experiment. The
// largest number that a checkpoint can need, a sum of 64th powers of 128-bit
// values over 10^18 n, is below 2^(127·64+60) and so has at most 2465 digits.
const MaxDigits = 4096

// intForms is the hint of all errors of ParseInt.
const intForms = "want an integer such as 1000000, 1_000_000, 1e6 or 10^6"

// ParseInt parses an integer as experiments and the command line write it:
//
//	1000000    digits, with an optional sign
//	1_000_000  single underscores between digits
//	1e6 1.5e3  a decimal number times a power of ten, if that is an integer
//	10^6 2^31  a power; base and exponent without sign
//
// The result is exact, or there is an error that says why not. Refused are
// fractions, hexadecimal, octal and binary forms, leading zeros (010 reads as
// eight to some programs and as ten to others), more than MaxDigits digits, and
// what looks like a floating-point number that some program printed after
// rounding it: a fraction of six or more digits in all with zeros left to fill
// in, such as 2.026423e17.
func ParseInt(s string) (*big.Int, error) {
	digits, neg := s, false
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		digits, neg = rest, true
	} else if rest, ok := strings.CutPrefix(s, "+"); ok {
		digits = rest
	}
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		return nil, fmt.Errorf("%s is not an integer", quote(s))
	}
	if len(digits) > 1 && digits[0] == '0' && strings.ContainsAny(digits[1:2], "xXoObB") {
		return nil, fmt.Errorf("%s is written to another base than ten", quote(s))
	}
	var v *big.Int
	var err error
	if base, exp, ok := strings.Cut(digits, "^"); ok {
		if digits != s {
			return nil, fmt.Errorf("%s is a power with a sign, which can be read in two ways", quote(s))
		}
		v, err = parsePower(base, exp)
	} else {
		v, err = parseDecimal(digits)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %w", quote(s), err)
	}
	if neg {
		v.Neg(v)
	}
	return v, nil
}

// errTooLong says that a number has more than MaxDigits digits.
var errTooLong = fmt.Errorf("has more than %d digits", MaxDigits)

// parsePower returns base^exp.
func parsePower(base, exp string) (*big.Int, error) {
	bt, err := plainDigits(base)
	if err != nil {
		return nil, err
	}
	et, err := plainDigits(exp)
	if err != nil {
		return nil, err
	}
	b, ok := new(big.Int).SetString(bt, 10)
	if !ok {
		return nil, errors.New("is not an integer")
	}
	e, err := strconv.ParseUint(et, 10, 32)
	if b.IsUint64() && b.Uint64() < 2 {
		if b.Sign() == 0 && et == "0" {
			return nil, errors.New("has no agreed value")
		}
		if et == "0" {
			return big.NewInt(1), nil
		}
		return b, nil
	}
	// b^e ≥ 2^((bits−1)·e), and 10^MaxDigits < 2^(4·MaxDigits): whatever has
	// more bits than that is too long, and is not computed. e is below 2^32 and
	// bits below 2^15 (MaxDigits digits), so the product does not wrap.
	if err != nil || uint64(b.BitLen()-1)*e > 4*MaxDigits {
		return nil, errTooLong
	}
	v := new(big.Int).Exp(b, new(big.Int).SetUint64(e), nil)
	if len(v.Text(10)) > MaxDigits {
		return nil, errTooLong
	}
	return v, nil
}

// parseDecimal parses digits, optionally with a fraction and an exponent.
func parseDecimal(s string) (*big.Int, error) {
	mant, exp := s, ""
	hasExp := false
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mant, exp, hasExp = s[:i], s[i+1:], true
	}
	whole, frac, hasFrac := strings.Cut(mant, ".")
	whole, err := plainDigits(whole)
	if err != nil {
		return nil, err
	}
	if hasFrac {
		// Zeros may lead a fraction, so it is checked behind a 1.
		f, err := plainDigits("1" + frac)
		if err != nil || frac == "" || frac[0] == '_' {
			return nil, errors.New("is not an integer")
		}
		frac = f[1:]
	}
	e := 0
	if hasExp {
		if e, err = parseExponent(exp); err != nil {
			return nil, err
		}
	}
	text := strings.TrimLeft(whole+frac, "0")
	if text == "" {
		return new(big.Int), nil
	}
	zeros := e - len(frac) // how many zeros follow the digits that are written
	switch {
	case len(text)+max(zeros, 0) > MaxDigits:
		return nil, errTooLong
	case zeros < 0:
		// 1200e-2 is 12: the digits beyond the point must all be zeros.
		cut := len(text) + zeros
		if cut <= 0 || strings.Trim(text[cut:], "0") != "" {
			return nil, errors.New("is not a whole number")
		}
		text = text[:cut]
	case zeros > 0 && frac != "" && len(text) > 5:
		return nil, fmt.Errorf("looks like a rounded floating-point number: only %d of its %d digits are written", len(text), len(text)+zeros)
	default:
		text += strings.Repeat("0", zeros)
	}
	v, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil, errors.New("is not an integer")
	}
	return v, nil
}

// parseExponent parses what follows the e of 1e9. Unlike elsewhere a leading
// zero is harmless here: programs print 1e+09.
func parseExponent(s string) (int, error) {
	digits := strings.TrimPrefix(strings.TrimPrefix(s, "+"), "-")
	if len(s)-len(digits) > 1 || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, errors.New("is not an integer")
	}
	// MaxDigits has four digits, so six are more than any use.
	if digits = strings.TrimLeft(digits, "0"); len(digits) > 6 {
		if s[0] == '-' {
			return 0, errors.New("is not a whole number")
		}
		return 0, errTooLong
	}
	e, _ := strconv.Atoi("0" + digits) // at most six digits: it cannot fail
	if s[0] == '-' {
		e = -e
	}
	return e, nil
}

// plainDigits checks that s is digits with single underscores between them, no
// leading zero and at most MaxDigits of them, and returns the digits.
func plainDigits(s string) (string, error) {
	last := byte('_')
	n := 0
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < '0' || c > '9') || c == '_' && last == '_' {
			return "", errors.New("is not an integer")
		}
		if c != '_' {
			n++
		}
		last = c
	}
	if last == '_' { // also when s is empty
		return "", errors.New("is not an integer")
	}
	if n > MaxDigits {
		return "", errTooLong
	}
	s = strings.ReplaceAll(s, "_", "")
	if len(s) > 1 && s[0] == '0' {
		return "", errors.New("has a leading zero, which some programs read as octal")
	}
	return s, nil
}
