// Package faultproxy stands between a Redis client and its server in tests and
// breaks the connection in ways that can be repeated: it reads the commands that
// pass, and a [Rule] says at which of them a reply is lost, a connection is cut
// before or after the server has seen the command, or everything waits.
//
// The proxy as a whole can also be cut, made to refuse connections, or made to
// swallow all traffic until it is healed.
//
// It speaks the protocol RESP 2 with one reply for each command, plus
// subscriptions, whose messages pass untouched.
//
// Package faultproxy imports ownport.
package faultproxy
