package embedredis

import (
	"context"
	"errors"
	"net"

	"github.com/alicebob/miniredis/v2"
)

// Options configure a server.
type Options struct {
	// Dir is the folder of the data and the socket. When it is empty the
	// server lives in memory only.
	Dir string
}

// Server is a Redis server inside this process.
type Server struct {
	mini *miniredis.Miniredis
}

// Open starts a server.
func Open(o Options) (*Server, error) {
	m := miniredis.NewMiniRedis()
	c, err := m.Dial() // starts it without a listener
	if err != nil {
		return nil, err
	}
	c.Close()
	return &Server{mini: m}, nil
}

// Dial opens a connection in memory.
func (s *Server) Dial(context.Context) (net.Conn, error) {
	srv := s.mini.Server()
	if srv == nil {
		return nil, errors.New("the embedded store is closed")
	}
	client, server := newPipe()
	srv.ServeConn(server)
	return client, nil
}

// Close ends the server and its connections.
func (s *Server) Close() error {
	s.mini.Close()
	return nil
}
