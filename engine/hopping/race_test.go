//go:build race

package hopping

// raceEnabled shortens the tests that compute a lot: the race detector makes
// them ten times slower.
const raceEnabled = true
