// Package report writes results and values for people and for other programs:
// tables, JSON, files of values in the formats that the On-Line Encyclopedia of
// Integer Sequences, spreadsheets and data tools read, and pictures.
//
// Everything goes to an io.Writer, streams, and keeps no more in memory than a
// batch of values. The package knows no store: values come through [Values].
//
// Package report imports engine, jobs and aggregator.
package report
