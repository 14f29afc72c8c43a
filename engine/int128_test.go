package engine

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

var two128 = new(big.Int).Lsh(big.NewInt(1), 128)

func genInt128(t *rapid.T, name string) Int128 {
	edge := rapid.SampledFrom([]Int128{{}, {0, 1}, {-1, ^uint64(0)}, {0, ^uint64(0)}, {1, 0}, {-1, 0},
		{-1 << 63, 0}, {1<<63 - 1, ^uint64(0)}, {5, 10_000_000_000_000_000_000},
		{0, 1 << 63}, {-1, 1<<63 - 1}, {0, 9_999_999_999_999_999_999}, {0, 10_000_000_000_000_000_000}, {-1, 8_446_744_073_709_551_617}})
	any := rapid.Custom(func(t *rapid.T) Int128 {
		return Int128{rapid.Int64().Draw(t, "hi"), rapid.Uint64().Draw(t, "lo")}
	})
	return rapid.OneOf(edge, any).Draw(t, name)
}

// wrap reduces v to the signed 128-bit range, as the type's arithmetic does.
func wrap(v *big.Int) *big.Int {
	v = new(big.Int).Mod(v, two128)
	if v.BitLen() == 128 {
		v.Sub(v, two128)
	}
	return v
}

func TestInt128AgreesWithBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := genInt128(t, "x"), genInt128(t, "y")
		bx, by := x.Big(), y.Big()
		if got, want := x.String(), bx.String(); got != want {
			t.Fatalf("String = %s, want %s", got, want)
		}
		if back, err := ParseInt128(bx.String()); err != nil || back != x {
			t.Fatalf("ParseInt128(%s) = %v, %v", bx, back, err)
		}
		if back, ok := Int128FromBig(bx); !ok || back != x {
			t.Fatalf("Int128FromBig(%s) = %v, %v", bx, back, ok)
		}
		if got, want := x.Add(y).Big(), wrap(new(big.Int).Add(bx, by)); got.Cmp(want) != 0 {
			t.Fatalf("%s + %s = %s, want %s", bx, by, got, want)
		}
		if got, want := x.Sub(y).Big(), wrap(new(big.Int).Sub(bx, by)); got.Cmp(want) != 0 {
			t.Fatalf("%s − %s = %s, want %s", bx, by, got, want)
		}
		if x.Cmp(y) != bx.Cmp(by) {
			t.Fatalf("Cmp(%s, %s) = %d", bx, by, x.Cmp(y))
		}
		if v, ok := x.Int64(); ok != bx.IsInt64() || (ok && v != bx.Int64()) {
			t.Fatalf("Int64(%s) = %d, %v", bx, v, ok)
		}
		var b [16]byte
		x.PutBytes(b[:])
		if Int128FromBytes(b[:]) != x {
			t.Fatalf("bytes of %s do not come back", bx)
		}
	})
}

func TestInt128Refuses(t *testing.T) {
	for _, s := range []string{"", "x", "1.5", "1e9", "170141183460469231731687303715884105728", "-170141183460469231731687303715884105729"} {
		if v, err := ParseInt128(s); err == nil {
			t.Errorf("ParseInt128(%q) = %v, want an error", s, v)
		}
	}
	if _, ok := Int128FromBig(new(big.Int).Lsh(big.NewInt(1), 127)); ok {
		t.Error("2^127 fits, want not")
	}
}
