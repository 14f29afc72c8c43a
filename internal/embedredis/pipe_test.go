package embedredis

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

func TestPipeBuffersAndCloses(t *testing.T) {
	a, b := newPipe()
	big := bytes.Repeat([]byte("0123456789"), 300_000)
	for range 2 {
		if n, err := a.Write(big); n != len(big) || err != nil { // nobody reads yet
			t.Fatal(n, err)
		}
	}
	got := make([]byte, 2*len(big))
	if _, err := io.ReadFull(b, got); err != nil || !bytes.Equal(got, append(big, big...)) {
		t.Fatal("other bytes came out", err)
	}
	if _, err := b.Write([]byte("bye")); err != nil {
		t.Fatal(err)
	}
	b.Close()
	if got, err := io.ReadAll(a); err != nil || string(got) != "bye" {
		t.Fatalf("%q, %v", got, err)
	}
	if _, err := a.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Fatal(err)
	}
}

func TestPipeDeadline(t *testing.T) {
	a, b := newPipe()
	defer a.Close()
	if err := b.SetReadDeadline(time.Now().Add(5 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	one := make([]byte, 1)
	if _, err := b.Read(one); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	// A deadline that moves wakes a reader; bytes that are there are read
	// whatever the deadline.
	if err := b.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := b.Read(one)
		done <- err
	}()
	if err := b.SetDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	if _, err := a.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Read(one); n != 1 || err != nil {
		t.Fatal(n, err)
	}
}
