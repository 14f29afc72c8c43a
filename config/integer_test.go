package config

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseInt(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"0", "0"}, {"-0", "0"}, {"7", "7"}, {"+7", "7"}, {"-7", "-7"},
		{"1000000000", "1000000000"}, {"1_000_000_000", "1000000000"},
		{"1e9", "1000000000"}, {"1E9", "1000000000"}, {"1e+09", "1000000000"}, {"-1e3", "-1000"},
		{"10^9", "1000000000"}, {"10^18", "1000000000000000000"}, {"2^64", "18446744073709551616"},
		{"10^0", "1"}, {"1^999999999999", "1"}, {"0^5", "0"}, {"3^1", "3"}, {"1_000^2", "1000000"},
		{"1.5e3", "1500"}, {"1.25e2", "125"}, {"1.0", "1"}, {"1.50e1", "15"}, {"1_000.5e1", "10005"}, {"0.5e1", "5"}, {"0.05e2", "5"}, {"0e5", "0"}, {"0.0", "0"},
		{"1200e-2", "12"}, {"0e-9", "0"}, {"1e0", "1"}, {"1e-0", "1"},
		// W(10^9), as digits and as a decimal fraction that spells them all.
		{"202642367520564145", "202642367520564145"}, {"2.02642367520564145e17", "202642367520564145"},
		{"9007199254740993", "9007199254740993"}, // 2^53+1, which float64 lacks
		{"1.2345e9", "1234500000"},
		{"1e4095", "1" + strings.Repeat("0", 4095)},
	} {
		got, err := ParseInt(c.in)
		if err != nil {
			t.Errorf("ParseInt(%q): %v", c.in, err)
		} else if got.String() != c.want {
			t.Errorf("ParseInt(%q) = %s, want %s", c.in, got, c.want)
		}
	}
}

func TestParseIntRefuses(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", `"" is not an integer`},
		{"abc", "abc is not an integer"},
		{"-", "- is not an integer"},
		{"--5", "--5 is not an integer"},
		{"1 000", `"1 000" is not an integer`},
		{"1,000", "1,000 is not an integer"},
		{"1__0", "1__0 is not an integer"},
		{"_10", "_10 is not an integer"},
		{"10_", "10_ is not an integer"},
		{"1e", "1e is not an integer"},
		{"1e+-5", "1e+-5 is not an integer"},
		{"1e5e5", "1e5e5 is not an integer"},
		{"1e1_0", "1e1_0 is not an integer"},
		{"1.", "1. is not an integer"},
		{".5e1", ".5e1 is not an integer"},
		{"1._5e3", "1._5e3 is not an integer"},
		{".inf", ".inf is not an integer"},
		{"10^", "10^ is not an integer"},
		{"^9", "^9 is not an integer"},
		{"10^9^2", "10^9^2 is not an integer"},
		{"10^-1", "10^-1 is not an integer"},
		{"10**9", "10**9 is not an integer"},
		{"٣", "٣ is not an integer"}, // an Arabic three
		{"1.5", "1.5 is not a whole number"},
		{"1.23e1", "1.23e1 is not a whole number"},
		{"1e-1", "1e-1 is not a whole number"},
		{"1e-9999999", "1e-9999999 is not a whole number"},
		{"0x10", "0x10 is written to another base than ten"},
		{"0o17", "0o17 is written to another base than ten"},
		{"0b11", "0b11 is written to another base than ten"},
		{"010", "010 has a leading zero, which some programs read as octal"},
		{"00", "00 has a leading zero, which some programs read as octal"},
		{"010^2", "010^2 has a leading zero, which some programs read as octal"},
		{"-10^3", "-10^3 is a power with a sign, which can be read in two ways"},
		{"0^0", "0^0 has no agreed value"},
		{"1e4096", "1e4096 has more than 4096 digits"},
		{"1e999999999999999999999", "1e999999999999999999999 has more than 4096 digits"},
		{"10^99999999999", "10^99999999999 has more than 4096 digits"},
		{"10^4294967295", "10^4294967295 has more than 4096 digits"},
		{"10^4096", "10^4096 has more than 4096 digits"},
		// W(10^9) as float64 prints it, and a sum as awk does.
		{"2.0264236752056415e+17", "2.0264236752056415e+17 looks like a rounded floating-point number: only 17 of its 18 digits are written"},
		{"6.10299e+10", "6.10299e+10 looks like a rounded floating-point number: only 6 of its 11 digits are written"},
	} {
		v, err := ParseInt(c.in)
		if err == nil {
			t.Errorf("ParseInt(%q) = %s, want an error", c.in, v)
		} else if err.Error() != c.want {
			t.Errorf("ParseInt(%q): %q, want %q", c.in, err, c.want)
		}
	}
	if v, err := ParseInt(strings.Repeat("9", MaxDigits)); err != nil || len(v.String()) != MaxDigits {
		t.Errorf("%d digits: %v", MaxDigits, err)
	}
	if _, err := ParseInt(strings.Repeat("9", MaxDigits+1)); err == nil || strings.Contains(err.Error(), "\n") || len(err.Error()) > 200 {
		t.Errorf("%d digits: %v", MaxDigits+1, err)
	}
}

// spell writes v in a random one of the accepted forms.
func spell(t *rapid.T, v *big.Int) string {
	digits := new(big.Int).Abs(v).String()
	switch rapid.IntRange(0, 3).Draw(t, "form") {
	case 1: // underscores at random places
		var b strings.Builder
		for i := range len(digits) {
			if i > 0 && rapid.Bool().Draw(t, "underscore") {
				b.WriteByte('_')
			}
			b.WriteByte(digits[i])
		}
		digits = b.String()
	case 2: // trailing zeros as an exponent
		short := strings.TrimRight(digits, "0")
		if short != "" {
			digits = short + "e" + big.NewInt(int64(len(digits)-len(short))).String()
		}
	case 3: // all digits as a fraction
		if len(digits) > 1 {
			digits = digits[:1] + "." + digits[1:] + "e" + big.NewInt(int64(len(digits)-1)).String()
		}
	}
	if v.Sign() < 0 {
		return "-" + digits
	}
	return digits
}

func bigInt() *rapid.Generator[*big.Int] {
	return rapid.Custom(func(t *rapid.T) *big.Int {
		v := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes"))
		v.Mul(v, new(big.Int).Exp(big.NewInt(10), big.NewInt(rapid.Int64Range(0, 20).Draw(t, "zeros")), nil))
		if rapid.Bool().Draw(t, "negative") {
			v.Neg(v)
		}
		return v
	})
}

func TestParseIntRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := bigInt().Draw(t, "v")
		s := spell(t, v)
		got, err := ParseInt(s)
		if err != nil || got.Cmp(v) != 0 {
			t.Fatalf("ParseInt(%q) = %v, %v; want %s", s, got, err, v)
		}
	})
}

func TestParseIntPowers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.Int64Range(1, 1<<40).Draw(t, "base")
		e := rapid.Int64Range(0, 300).Draw(t, "exponent")
		s := big.NewInt(b).String() + "^" + big.NewInt(e).String()
		got, err := ParseInt(s)
		want := new(big.Int).Exp(big.NewInt(b), big.NewInt(e), nil)
		if len(want.String()) > MaxDigits {
			t.Skip("too long by design")
		}
		if err != nil || got.Cmp(want) != 0 {
			t.Fatalf("ParseInt(%q) = %v, %v; want %s", s, got, err, want)
		}
	})
}

// FuzzParseInt compares what is accepted with exact rational arithmetic.
func FuzzParseInt(f *testing.F) {
	for _, s := range []string{"0", "-1_000", "1e9", "1.5e3", "10^18", "010", "0x1", "2.0264236752056415e+17", "1e-1", "9^9^9", "1e4096"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseInt(s)
		if err != nil {
			if msg := err.Error(); strings.ContainsAny(msg, "\n\r") || len(msg) > 400 {
				t.Fatalf("error is not one short line: %q", msg)
			}
			return
		}
		if len(new(big.Int).Abs(v).String()) > MaxDigits {
			t.Fatalf("%q has more than %d digits", s, MaxDigits)
		}
		plain := strings.ReplaceAll(s, "_", "")
		if base, exp, ok := strings.Cut(plain, "^"); ok {
			b, _ := new(big.Int).SetString(base, 10)
			e, _ := new(big.Int).SetString(exp, 10)
			if b == nil || e == nil {
				t.Fatalf("%q was read as %s", s, v)
			}
			if b.Cmp(big.NewInt(2)) < 0 && e.Sign() > 0 {
				e.SetInt64(1)
			}
			if b.Exp(b, e, nil).Cmp(v) != 0 {
				t.Fatalf("%q was read as %s", s, v)
			}
			return
		}
		r, ok := new(big.Rat).SetString(plain)
		if !ok || !r.IsInt() || r.Num().Cmp(v) != 0 {
			t.Fatalf("%q was read as %s, and by big.Rat as %v", s, v, r)
		}
	})
}
