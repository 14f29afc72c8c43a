package leaks

import (
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) { Main(m) }

// TestSettle: a goroutine that stays is named, one that ends late is waited for.
func TestSettle(t *testing.T) {
	stop := make(chan struct{})
	go linger(stop)
	if err := settle(0); err == nil || !strings.Contains(err.Error(), "linger") {
		t.Errorf("a goroutine that is left gives %v", err)
	}
	time.AfterFunc(600*time.Millisecond, func() { close(stop) })
	if err := settle(10 * time.Minute); err != nil {
		t.Errorf("a goroutine that ends gives %v", err)
	}
}

func linger(stop <-chan struct{}) { <-stop }
