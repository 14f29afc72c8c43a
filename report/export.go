package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/nsweep/nsweep/engine"
)

// Format is a format of files of values.
type Format string

// BFile is the format of the OEIS: lines "n value" for consecutive n and
// comment lines with #. CSV has the header n,value. JSONL has an object with n
// and value on each line, numbers above 2^53 as strings. Parquet has the
// columns n and value, compressed with zstd.
const (
	BFile   Format = "bfile"
	CSV     Format = "csv"
	JSONL   Format = "jsonl"
	Parquet Format = "parquet"
)

// Formats are all formats.
var Formats = []Format{BFile, CSV, JSONL, Parquet}

// ExportOptions are the settings of Export.
type ExportOptions struct {
	Format Format
	// Want is what the export must hold. A b-file is of consecutive n: of
	// [Lo, Hi), or from the first point on when that is empty.
	Want Wanted
	// AllowPartial accepts that wanted values are missing, or for a b-file that
	// the n wanted are not consecutive. A b-file then ends at the first gap with a
	// comment that says so.
	AllowPartial bool
	// Wide says that values need not fit 64 bits: Parquet then has the type
	// DECIMAL(38, 0) in place of INT64. See [IsWide].
	Wide bool
	// Provenance is written as comments of a b-file and as key-value metadata of
	// Parquet; CSV and JSONL have no place for it.
	Provenance Provenance
}

// Export writes the values in the given format. It streams: memory is bounded
// by a few MiB, for Parquet by a row group of about a million values. It returns
// a *[PartialError] when wanted values are missing, after everything that is
// there was written, and a *[GapError] before anything was when a b-file is asked
// for n that are not consecutive.
func Export(w io.Writer, values Values, o ExportOptions) (Summary, error) {
	switch o.Format {
	case BFile:
		return exportBFile(w, values, o)
	case CSV:
		return exportText(w, values, o, "n,value\n", func(b []byte, p engine.Piece) []byte { return p.AppendLines(b, ',') })
	case JSONL:
		return exportText(w, values, o, "", appendJSONL)
	case Parquet:
		return exportParquet(w, values, o)
	}
	return Summary{}, fmt.Errorf("format %q is not known, want one of %q", o.Format, Formats)
}

// pieceMax is how many values are formatted before they are written.
const pieceMax = 1024

// each calls use for the values, at most pieceMax at a time, and follows what is
// missing.
func each(values Values, t *tracker, use func(engine.Piece) error) error {
	for p, err := range values {
		if err != nil {
			return err
		}
		for p.Len() > 0 {
			part := p.Slice(0, min(pieceMax, p.Len()))
			if err := t.pass(part.Lo, part.Lo+int64(part.Len())); err != nil {
				return err
			}
			if err := use(part); err != nil {
				return err
			}
			p = p.Slice(part.Len(), p.Len())
		}
	}
	return nil
}

// exportText writes a header and then what format appends for each piece.
func exportText(w io.Writer, values Values, o ExportOptions, header string, format func([]byte, engine.Piece) []byte) (Summary, error) {
	t := newTracker(o.Want)
	buf := []byte(header)
	err := each(values, t, func(p engine.Piece) error {
		buf = format(buf, p)
		if len(buf) < 1<<16 {
			return nil
		}
		_, err := w.Write(buf)
		buf = buf[:0]
		return err
	})
	if err != nil {
		return t.sum, err
	}
	if _, err := w.Write(buf); err != nil {
		return t.sum, err
	}
	return t.end(o.AllowPartial)
}

// appendJSONL appends a line {"n":…,"value":…} for each value.
func appendJSONL(b []byte, p engine.Piece) []byte {
	for i := range p.Len() {
		b = append(b, `{"n":`...)
		b = appendJSONInt(b, engine.Int128From(p.Lo+int64(i)))
		b = append(b, `,"value":`...)
		b = appendJSONInt(b, p.At(i))
		b = append(b, '}', '\n')
	}
	return b
}

// appendJSONInt writes an integer as a number up to 2^53 in size and as a string
// beyond.
func appendJSONInt(b []byte, v engine.Int128) []byte {
	const exact = 1 << 53
	if x, ok := v.Int64(); ok && x >= -exact && x <= exact {
		return strconv.AppendInt(b, x, 10)
	}
	b = append(b, '"')
	b = v.Append(b)
	return append(b, '"')
}

// IsWide reads the values once and reports whether one of them does not fit 64
// bits.
func IsWide(values Values) (bool, error) {
	for p, err := range values {
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(p.Wide, func(v engine.Int128) bool { _, ok := v.Int64(); return !ok }) {
			return true, nil
		}
	}
	return false, nil
}
