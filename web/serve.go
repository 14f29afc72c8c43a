package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// serve answers requests until ctx ends. ending is called as soon as it does,
// so that what would last for ever comes to its end.
func serve(ctx context.Context, h http.Handler, ln net.Listener, o *Options, ending func()) error {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: o.waits.header,
		ReadTimeout:       o.waits.read,
		WriteTimeout:      o.waits.write, // streams move theirs on
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		select {
		case <-ctx.Done():
		case <-stop:
		}
		ending()
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.waits.drain)
		defer cancel()
		if srv.Shutdown(bye) != nil {
			_ = srv.Close() // whoever is still there has had the time
		}
	})
	err := srv.Serve(ln)
	close(stop)
	wg.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
