// Package ownport gives tests ports of 127.0.0.1 that are theirs for as long as
// they want, also while nobody listens on them.
//
// A port that the system picks for port 0 is anybody's again as soon as it is
// closed: a server that is stopped and started again may find it taken, and one
// that was chosen for a server still to be started may be answered by another.
// The ports of this package lie below those that the system gives away by itself,
// and each is held by a socket of another protocol, so that all who take theirs
// from here get different ones, in whatever process. A process that dies holds
// nothing.
//
// Package ownport imports nothing else of this module.
package ownport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports are drawn from [least, bound). The system's own begin at 32768 on
// Linux and at 49152 elsewhere.
const (
	least = 15_000
	bound = 32_000
)

// tries is how many ports are drawn before it is said that there is none.
const tries = 1000

// Take returns a TCP port of 127.0.0.1 on which nobody listens. Until release is
// called, Take gives it to nobody else, in this process or another.
func Take() (port int, release func(), err error) {
	for range tries {
		if port, release, err = take(least + rand.IntN(bound-least)); err == nil {
			return port, release, nil
		}
	}
	return 0, nil, fmt.Errorf("none of %d ports from %d to %d is free: %w", tries, least, bound-1, err)
}

// take takes that port, or says why it cannot be had.
func take(port int) (int, func(), error) {
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	held, err := net.ListenPacket("udp4", addr)
	if err != nil {
		return 0, nil, err
	}
	l, err := net.Listen("tcp4", addr)
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		_ = held.Close() // nothing was sent over it
		return 0, nil, err
	}
	return port, func() { _ = held.Close() }, nil
}
