package report

import (
	"fmt"
	"io"
	"math/big"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/nsweep/nsweep/engine"
)

// rowGroup is the number of values in a row group: what readers fetch at once,
// and what the writer holds in memory.
const rowGroup = 1 << 20

// narrowRow and wideRow are the two shapes of a row. Differences of neighbours
// are short, which the delta encoding makes use of.
type narrowRow struct {
	N     int64 `parquet:"n,delta"`
	Value int64 `parquet:"value,delta"`
}

type wideRow struct {
	N     int64    `parquet:"n,delta"`
	Value [16]byte `parquet:"value,decimal(0:38)"`
}

// maxDecimal is 10^38 − 1, the largest value of DECIMAL(38, 0).
var maxDecimal = func() engine.Int128 {
	v := new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil)
	x, _ := engine.Int128FromBig(v.Sub(v, big.NewInt(1)))
	return x
}()

func exportParquet(w io.Writer, values Values, o ExportOptions) (Summary, error) {
	if o.Wide {
		return writeRows(w, values, o, func(n int64, v engine.Int128) (r wideRow, err error) {
			if v.Cmp(maxDecimal) > 0 || v.Cmp(maxDecimal.Neg()) < 0 {
				return r, fmt.Errorf("the value %s at n = %d has more than the 38 digits of DECIMAL(38, 0)", v, n)
			}
			r.N = n
			v.PutBytes(r.Value[:])
			return r, nil
		})
	}
	return writeRows(w, values, o, func(n int64, v engine.Int128) (narrowRow, error) {
		x, ok := v.Int64()
		if !ok {
			return narrowRow{}, fmt.Errorf("the value %s at n = %d does not fit INT64", v, n)
		}
		return narrowRow{N: n, Value: x}, nil
	})
}

// writeRows writes a Parquet file of rows made of the values. The bytes depend
// on nothing but values and options: the compressor runs in one goroutine, and
// no date or machine is noted.
func writeRows[R any](w io.Writer, values Values, o ExportOptions, row func(int64, engine.Int128) (R, error)) (Summary, error) {
	t := newTracker(o.Want)
	out := parquet.NewGenericWriter[R](w,
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest, Concurrency: 1}),
		parquet.MaxRowsPerRowGroup(rowGroup),
		parquet.SortingWriterConfig(parquet.SortingColumns(parquet.Ascending("n"))),
		parquet.CreatedBy("nsweep", "1", "0"))
	for _, f := range o.Provenance.fields() {
		out.SetKeyValueMetadata("nsweep."+f[0], f[1])
	}
	rows := make([]R, 0, pieceMax)
	err := each(values, t, func(p engine.Piece) error {
		rows = rows[:0]
		for i := range p.Len() {
			r, err := row(p.Lo+int64(i), p.At(i))
			if err != nil {
				return err
			}
			rows = append(rows, r)
		}
		_, err := out.Write(rows)
		return err
	})
	if err != nil {
		return t.sum, err
	}
	if err := out.Close(); err != nil {
		return t.sum, err
	}
	return t.end(o.AllowPartial)
}
