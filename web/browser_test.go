package web

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// serveFake runs a server over a store on a loopback port until the test ends.
func serveFake(t testing.TB, o Options) (*Server, string) {
	t.Helper()
	if o.waits == (waits{}) {
		o.waits = patient
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return s, "http://" + ln.Addr().String()
}

// browser is a fresh Chromium. What it asks for and complains about is noted:
// when the test ends, nothing may have gone outside and every complaint must
// have been expected.
type browser struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	requests []string
	errors   []string
	expected []string // parts of the complaints that the test provokes
}

// chromium returns the path of the browser, or skips the test. In continuous
// integration it must be there.
func chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "no chromium: apt-get install -y --no-install-recommends chromium fonts-dejavu-core"
	if os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// profile returns a folder for a browser, which is removed once the last of the
// browser's processes has let go of it.
func profile(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "nsweep-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for end := time.Now().Add(hang); ; time.Sleep(20 * time.Millisecond) {
			err := os.RemoveAll(dir)
			if err == nil {
				return
			}
			if time.Now().After(end) {
				t.Error(err)
				return
			}
		}
	})
	return dir
}

// newBrowser starts a browser with a page of that size.
func newBrowser(t testing.TB, wide, high int64) *browser {
	t.Helper()
	path := chromium(t)
	opts := append([]chromedp.ExecAllocatorOption{}, chromedp.DefaultExecAllocatorOptions[:]...)
	opts = append(opts, chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(profile(t)),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("lang", "en-US"), chromedp.WSURLReadTimeout(hang))
	alloc, cancelAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(alloc)
	b := &browser{t: t, ctx: ctx}
	t.Cleanup(func() {
		b.verify()
		end, stop := context.WithTimeout(ctx, hang)
		_ = chromedp.Cancel(end) // waits for the browser to end
		stop()
		cancel()
		cancelAlloc()
	})
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	command(b, network.Enable, network.EnableParams{})
	command(b, cdplog.Enable, cdp.Empty{})
	command(b, runtime.Enable, cdp.Empty{})
	command(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "UTC"})
	b.size(wide, high)
	return b
}

// command runs a protocol command.
func command[P, R any](b *browser, c cdp.Command[P, R], params P) R {
	b.t.Helper()
	r, err := chromedp.Call(b.ctx, c, params)
	if err != nil {
		b.t.Fatalf("browser: %s: %v", c.Method, err)
	}
	return r
}

func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *network.EventWebSocketCreated:
		b.requests = append(b.requests, e.URL)
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if o := e.ExceptionDetails.Exception; o != nil {
			text += " " + o.Description
		}
		b.errors = append(b.errors, text)
	case *runtime.EventConsoleAPICalled:
		if t := string(e.Type); t == "error" || t == "warning" || t == "assert" {
			b.errors = append(b.errors, fmt.Sprintf("console %s: %s", t, e.Args[0].Value))
		}
	case *cdplog.EventEntryAdded:
		b.errors = append(b.errors, string(e.Entry.Level)+": "+e.Entry.Text+" "+e.Entry.URL)
	}
}

// verify checks that nothing went outside and nothing was complained about.
func (b *browser) verify() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.requests) == 0 {
		b.t.Error("no request was noted: the test does not see what the browser does")
	}
	for _, u := range b.requests {
		if !strings.HasPrefix(u, "http://127.0.0.1:") && !strings.HasPrefix(u, "data:") {
			b.t.Errorf("a request went outside: %s", u)
		}
	}
	for _, e := range b.errors {
		ok := false
		for _, x := range b.expected {
			ok = ok || strings.Contains(e, x)
		}
		if !ok {
			b.t.Errorf("the browser complained: %s", e)
		}
	}
}

// expect lets the browser complain about something.
func (b *browser) expect(part string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, part)
}

// within bounds one step.
func (b *browser) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.ctx, hang)
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("browser: %v\n%s", err, b.text())
	}
}

// open loads an address and waits for the stream of the page to speak.
func (b *browser) open(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
	b.until(`document.querySelector("#live")?.textContent === "live"`)
}

// text is what the page says now, for messages.
func (b *browser) text() string {
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	s, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body ? location.href + "\n" + document.body.innerText : ""`))
	if err != nil {
		return err.Error()
	}
	return s
}

// until waits until a JavaScript expression holds. It survives navigation.
func (b *browser) until(expr string) {
	b.t.Helper()
	deadline := time.Now().Add(hang)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ctx, cancel := b.within()
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`Boolean(`+expr+`)`))
		cancel()
		if err == nil && ok {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("never true: %s (%v)\n%s", expr, err, b.text())
		}
		<-tick.C
	}
}

// click clicks an element as soon as the pointer could: when it is there and
// nothing lies over it. It is found and clicked in one step, so that no update
// can move it in between.
func (b *browser) click(selector string) {
	b.t.Helper()
	deadline := time.Now().Add(hang)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !eval[bool](b, `((e) => {
		if (!e) return false;
		e.scrollIntoView({block: "center", behavior: "instant"});
		const r = e.getBoundingClientRect(), top = document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2);
		if (!top || !e.contains(top)) return false;
		e.focus();
		e.click();
		return true;
	})(document.querySelector(`+strconv.Quote(selector)+`))`) {
		if time.Now().After(deadline) {
			b.t.Fatalf("%s cannot be clicked\n%s", selector, b.text())
		}
		<-tick.C
	}
}

// still waits until an element stays where it is while the page is brought up to
// date a few times. It is for pages on which nothing more happens.
func (b *browser) still(selector string) {
	b.t.Helper()
	const where = `JSON.stringify(document.querySelector("%s").getBoundingClientRect())`
	place := fmt.Sprintf(where, selector)
	was := eval[string](b, place)
	for same := 0; same < 4; same++ {
		b.until(fmt.Sprintf("Number(document.body.dataset.seq) > %d", eval[int](b, "Number(document.body.dataset.seq)")))
		if is := eval[string](b, place); is != was {
			was, same = is, 0
		}
	}
}

// eval returns the value of a JavaScript expression.
func eval[T any](b *browser, expr string) T {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expr))
	if err != nil {
		b.t.Fatalf("browser: %s: %v\n%s", expr, err, b.text())
	}
	return v
}

// shot saves a picture of the page when NSWEEP_SHOTS names a folder.
func (b *browser) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("NSWEEP_SHOTS")
	if dir == "" {
		return
	}
	ctx, cancel := b.within()
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) size(wide, high int64) {
	b.t.Helper()
	command(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: wide, Height: high, DeviceScaleFactor: 1})
}

// scheme switches between "light" and "dark".
func (b *browser) scheme(s string) {
	b.t.Helper()
	command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s}}})
	b.until(`matchMedia("(prefers-color-scheme: ` + s + `)").matches`)
}
