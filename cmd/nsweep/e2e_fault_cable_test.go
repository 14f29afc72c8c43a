package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// cable is a network of two machines, this one and a namespace, with a cable
// between them.
type cable struct {
	t        *testing.T
	name     string // of the namespace
	here, ip string // this end's device, this end's address
}

// newCable lays a cable, or skips the test where that is not allowed.
func newCable(t *testing.T) *cable {
	t.Helper()
	k := os.Getpid() % 250
	c := &cable{t: t, name: fmt.Sprintf("nsweep%d", os.Getpid()), here: fmt.Sprintf("nsw%d", k), ip: fmt.Sprintf("10.213.%d.1", k)}
	if out, err := exec.Command("ip", "netns", "add", c.name).CombinedOutput(); err != nil {
		t.Skipf("no network namespace: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("ip", "netns", "del", c.name).CombinedOutput(); err != nil {
			t.Errorf("remove the namespace: %v: %s", err, out)
		}
	})
	there := c.here + "p"
	for _, args := range []string{
		"link add " + c.here + " type veth peer name " + there + " netns " + c.name,
		"addr add " + c.ip + "/30 dev " + c.here,
		"link set " + c.here + " up",
		"-n " + c.name + " addr add " + strings.TrimSuffix(c.ip, "1") + "2/30 dev " + there,
		"-n " + c.name + " link set " + there + " up",
		"-n " + c.name + " link set lo up",
	} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Skipf("ip %s: %v: %s", args, err, out)
		}
	}
	return c
}

// plug connects or pulls the cable.
func (c *cable) plug(state string) {
	c.t.Helper()
	if out, err := exec.Command("ip", "link", "set", c.here, state).CombinedOutput(); err != nil {
		c.t.Fatalf("cable %s: %v: %s", state, err, out)
	}
}

// TestNetworkCut pulls the cable of one worker, which sits on a machine of its
// own as far as the network goes. Its cells are computed by the other one, and
// when it is connected again it goes on.
func TestNetworkCut(t *testing.T) {
	t.Parallel()
	c := newCable(t)
	s := newScene(t, 10, time.Second, "--bind", "127.0.0.1", c.ip, "--protected-mode", "no")
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(s.srv.Addr(), ":")
	env := append(s.direct("NSWEEP_TEST_MACHINE=a"), "NSWEEP_REDIS_URL=redis://"+c.ip+":"+port+"/0")
	s.start(s.direct(), "scheduler")
	far := launch(t, "ip", s.dir, env, "netns", "exec", c.name, bin, "worker", "--concurrency", "1", "--engine", "toy")
	s.start(s.direct("NSWEEP_TEST_MACHINE=b"), "worker", "--concurrency", "1", "--engine", "toy")
	s.submit()
	held := s.heldBy(far)
	c.plug("down")
	took := s.takenUp(held, far)
	c.plug("up")
	s.complete()
	t.Logf("taken up after %s at a tenth of the intervals", took.Round(10*time.Millisecond))
}
