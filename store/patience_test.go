package store

import "time"

// In tests the client waits for every answer as long as it takes: a command whose
// answer is late would be sent again, and what it stores counts as repeated then.
// And no worker is forgotten because the test was kept waiting.
func init() {
	dialTimeout, ioTimeout = 2*time.Minute, 2*time.Minute
	workerSilence = time.Hour
}
