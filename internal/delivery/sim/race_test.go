//go:build race

package sim

// slower is how many times fewer schedules are played where the race detector
// watches: a schedule has one goroutine.
const slower = 5
