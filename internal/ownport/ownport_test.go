package ownport

import (
	"net"
	"strconv"
	"sync"
	"testing"
)

// TestPortsAreOwn: many who take a port at once get different ones, on which
// they can listen, again and again.
func TestPortsAreOwn(t *testing.T) {
	const takers = 60
	ports := make([]int, takers)
	var wg sync.WaitGroup
	for i := range takers {
		wg.Go(func() {
			port, release, err := Take()
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(release)
			ports[i] = port
			for range 3 {
				l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
				if err != nil {
					t.Error(err)
					return
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	seen := map[int]bool{}
	for _, p := range ports {
		if seen[p] || p < least || p >= bound {
			t.Errorf("port %d is out of range or given twice", p)
		}
		seen[p] = true
	}
}

// TestTakenAndReleased: a port that is held, or on which somebody listens, is not
// given; one that was released is.
func TestTakenAndReleased(t *testing.T) {
	port, release, err := Take()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := take(port); err == nil {
		t.Error("a port that is held is given again")
	}
	release()
	again, release, err := take(port)
	if err != nil || again != port {
		t.Fatalf("after its release port %d is not given: %v", port, err)
	}
	release()
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, _, err := take(port); err == nil {
		t.Error("a port on which somebody listens is given")
	}
}
