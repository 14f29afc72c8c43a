//go:build !race

package report

// underRace says that the race detector slows drawing down tenfold.
const underRace = false
