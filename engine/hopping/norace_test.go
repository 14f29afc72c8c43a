//go:build !race

package hopping

const raceEnabled = false
