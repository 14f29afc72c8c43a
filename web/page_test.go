package web

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/jobs"
)

// lively is a store with a run under way that shows everything there is.
func lively(t testing.TB) (*fakeStore, *fakeRun) {
	f := newFake()
	f.worker("alder:4711", 4)
	f.worker("birch:4712", 8)
	r := f.add("overnight", toySweep(t, "squares", 50, 1, 50_001), toySweep(t, "far", 1000, 1, 1, 10, 1000, 1_000_000))
	r.leader = "alder:4711"
	r.finish("squares", 0, 600)
	r.finish("squares", 640, 700)
	r.points["far"][10] = true
	r.give(f, "alder:4711", "squares", 30_001, 31_001, 0.4, 0)
	r.give(f, "birch:4712", "squares", 31_001, 32_001, 0.7, 0)
	r.give(f, "", "squares", 35_001, 36_001, 0, 0)
	r.failures = []jobs.Failure{
		{Sweep: "squares", Lo: 40_001, Hi: 40_051, Error: "engine toy panicked: index out of range\nlog: n = 40017\nlog: giving up", Worker: "birch:4712", AtMs: time.Now().UnixMilli()},
		{Sweep: "far", Points: []int64{1_000_000}, Error: "killed its worker 5 times", Worker: "alder:4711", AtMs: time.Now().UnixMilli()},
	}
	r.disputes["squares"] = []jobs.Dispute{{Cell: 10, N: 501, Claims: []jobs.Claim{{By: "birch:4712", CRC: 7}}}}
	f.add("old", toySweep(t, "cubes", 50, 1, 1001)).State = jobs.Cancelled
	return f, r
}

// TestPage drives one browser through everything that a page does.
func TestPage(t *testing.T) {
	f, r := lively(t)
	many, big := large(t, 1_000_000)
	big.State = jobs.Halted // so that the fake need not count a million cells all the time
	f.runs = append(f.runs, many.runs...)
	// And that nothing of it moves while the mouse is on its way: it is summed up.
	summed := aggregator.Result{Run: "large", Epoch: big.ID.Epoch, Sweeps: []aggregator.SweepResult{{Name: "s", Done: 700_000_000, Count: 1_000_000_000}}}
	o := Options{Store: f, Pace: 50 * time.Millisecond, Version: "test"}
	o.Partial = func(id jobs.RunID) (aggregator.Result, bool) { return summed, id == big.ID }
	s, base := serveFake(t, o)
	b := newBrowser(t, 1280, 900)
	for _, step := range []struct {
		name string
		do   func(*testing.T)
	}{
		{"list", func(*testing.T) {
			b.open(base + "/")
			b.until(`document.querySelector("#run-overnight").textContent.includes("33,001")`)
			b.until(`document.querySelector("#run-overnight .checks").textContent.includes("✓ 2")`)
			f.change(func() { r.finish("squares", 700, 701) })
			b.until(`document.querySelector("#run-overnight").textContent.includes("33,051")`)
		}},
		{"live", func(*testing.T) {
			b.open(base + "/run/overnight")
			b.until(`document.querySelectorAll("#sweep-squares .c-ok").length === 2`)
			b.do(chromedp.Evaluate[chromedp.Void](`window.mark = 1; document.querySelector("#sweep-squares .digest, #sweep-squares .sums").id = "kept"`))
			// A map that could not be read is read when it can be, though nothing
			// else happens.
			b.do(chromedp.Evaluate[chromedp.Void](`const real = window.fetch; window.refused = 0;
				window.fetch = (...a) => String(a[0]).includes("heat.json") && ++window.refused ? Promise.reject(new TypeError("cut")) : real(...a);
				window.mend = () => { window.fetch = real; };`))
			f.change(func() { r.finish("squares", 600, 610) })
			b.until(`window.refused > 0`)
			b.do(chromedp.Evaluate[chromedp.Void](`window.mend()`))
			b.until(`document.querySelector(".legend").textContent.includes("done 670")`)
			f.change(func() { r.finish("squares", 610, 640); r.finish("squares", 701, 1000) })
			b.until(`document.querySelectorAll("#sweep-squares .c-ok").length === 4`)
			b.until(`document.querySelector("#sweep-squares").textContent.includes("50,000 of 50,000 values")`)
			b.until(`document.querySelector(".legend").textContent.includes("done 999")`) // one is disputed
			b.until(`document.querySelector("#events").textContent.includes("checkpoint met: f(50,000)")`)
			if eval[int](b, `window.mark`) != 1 {
				t.Error("the page was loaded anew")
			}
			f.change(func() { r.leader = "birch" })
			b.until(`document.querySelector("#heading").textContent.includes("led by birch")`)
			if got := eval[string](b, `document.querySelector("#main h1").textContent`); got != "overnight" {
				t.Errorf("heading %q", got)
			}
		}},
		{"cell", func(*testing.T) {
			b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#cells").focus()`))
			b.do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
			b.until(`document.querySelector("#map-line").textContent === "n = 101…150 · done"`)
			b.do(chromedp.KeyEvent(kb.Enter))
			b.until(`document.querySelector("#cell h3")?.textContent.includes("Cell 2: n = 101…150")`)
			b.until(`document.querySelector("#cell").textContent.includes("✓ sound")`)
			b.click("#cell [rel=next]")
			b.until(`document.querySelector("#cell h3").textContent.includes("Cell 3: n = 151…200")`)
			b.do(chromedp.SetValue("#lookup [name=n]", "515"))
			b.click("#lookup button")
			b.until(`document.querySelector("#cell").textContent.includes("disputed")`)
			b.do(chromedp.SetValue("#lookup [name=n]", "60000"))
			b.expect("404")
			b.click("#lookup button")
			b.until(`document.querySelector("#cell").textContent.includes("no such n")`)
		}},
		{"zoom", func(*testing.T) {
			b.open(base + "/run/large")
			b.until(`document.querySelector("#map-line")?.textContent.includes("cells. Click")`)
			at := func(i int) (x, y float64) { // the middle of a square
				box := eval[[]float64](b, `(() => { const c = document.querySelector("#cells"); c.scrollIntoView({block: "center"});
					const r = c.getBoundingClientRect(); return [r.left, r.top, r.width] })()`)
				columns := int((box[2] - 84) / 10)
				return box[0] + 84 + 10*float64(i%columns) + 4, box[1] + 10*float64(i/columns) + 4
			}
			window := func() string {
				return eval[string](b, `document.querySelector("#window").elements.from.value + " " + document.querySelector("#window").elements.to.value`)
			}
			b.still("#cells")
			x, y := at(0)
			b.do(chromedp.MouseClickXY(x, y))
			b.until(`new URL(location.href).searchParams.has("to")`)
			first := window()
			if !strings.HasPrefix(first, "1 ") || len(first) > len("1 999999") {
				t.Errorf("a click on the first square shows %s", first)
			}
			b.until(`document.querySelector("#map-line").textContent.includes("A square is one cell")`)
			b.do(chromedp.KeyEvent(kb.Escape))
			b.until(`!new URL(location.href).searchParams.has("to")`)
			if got := window(); got != "1 1000000000" {
				t.Errorf("Escape shows %s", got)
			}
			b.until(`document.querySelector("#map-line").textContent.includes("cells. Click") || document.querySelector("#map-line").textContent.includes("cells:")`)
			b.still("#cells")
			ax, ay := at(20)
			bx, by := at(40)
			b.do(chromedp.DragAndDropXY(ax, ay, bx, by, 5))
			b.until(`new URL(location.href).searchParams.has("to")`)
			dragged := window()
			if from := number(strings.Fields(dragged)[0], 0); from < 5_000_000 || from > 20_000_000 {
				t.Errorf("dragging shows %s", dragged)
			}
			b.do(chromedp.KeyEvent("+"))
			b.until(`document.querySelector("#window").elements.from.value !== "` + strings.Fields(dragged)[0] + `"`)
			b.do(chromedp.KeyEvent(kb.PageDown), chromedp.KeyEvent("-"), chromedp.KeyEvent(kb.Escape))
			b.until(`!new URL(location.href).searchParams.has("to")`)
			b.do(chromedp.SetValue("#window [name=from]", "1,000,001"), chromedp.SetValue("#window [name=to]", "2000000"))
			b.click("#window button")
			b.until(`document.querySelector(".legend").textContent.includes("done 1,000")`)
			// The address leads to the same window.
			b.open(eval[string](b, `location.href`))
			b.until(`document.querySelector(".legend")?.textContent.includes("done 1,000")`)
			// The map is drawn anew while the button is held down.
			b.still(".toggle")
			button := eval[[]float64](b, `(() => { const e = document.querySelector(".toggle button:last-child"); e.scrollIntoView({block: "center"});
				const r = e.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2] })()`)
			b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, button[0], button[1], chromedp.ButtonLeft, chromedp.ClickCount(1)))
			drawn := eval[int](b, `performance.getEntriesByName("map").length`)
			b.scheme("dark")
			b.until(fmt.Sprintf(`performance.getEntriesByName("map").length > %d`, drawn))
			b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, button[0], button[1], chromedp.ButtonLeft, chromedp.ClickCount(1)))
			b.until(`document.querySelector(".toggle button:last-child").getAttribute("aria-pressed") === "true"`)
			b.click("#out")
			b.until(`!new URL(location.href).searchParams.has("to")`)
			// The cursor stands on the last square, and a smaller map has fewer.
			b.until(`document.querySelector("#map-line").textContent.includes("cells. Click") || document.querySelector("#map-line").textContent.includes("cells:")`)
			b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#cells").focus()`), chromedp.KeyEvent(kb.End))
			b.until(`document.querySelector("#map-line").textContent.includes("…1,000,000,000 ·")`)
			line := eval[string](b, `document.querySelector("#map-line").textContent`)
			b.size(500, 900)
			b.until(`document.querySelector("#map-line").textContent.includes("…1,000,000,000 ·") && document.querySelector("#map-line").textContent !== ` + strconv.Quote(line))
			b.do(chromedp.KeyEvent("+"))
			b.until(`Number(document.querySelector("#window").elements.from.value) > 500000000`)
			b.size(1280, 900)
			spent := eval[[]float64](b, `performance.getEntriesByName("map").map((e) => e.duration)`)
			if len(spent) == 0 {
				t.Error("no drawing was measured")
			}
			t.Logf("10^6 cells: drawing the map takes %.1f ms at most in %d times", slices.Max(spent), len(spent))
		}},
		{"filter", func(*testing.T) {
			b.open(base + "/run/overnight")
			b.until(`document.querySelectorAll("#failure-list tbody tr").length === 2`)
			b.do(chromedp.SendKeys("#filter [name=q]", "killed"))
			b.until(`document.querySelectorAll("#failure-list tbody tr").length === 1 && location.search.includes("q=killed")`)
			f.change(func() {
				r.failures = append(r.failures, jobs.Failure{Sweep: "far", Points: []int64{1000}, Error: "killed too", AtMs: time.Now().UnixMilli()}, jobs.Failure{Sweep: "squares", Lo: 1, Hi: 51, Error: "else"})
			})
			b.until(`document.querySelectorAll("#failure-list tbody tr").length === 2`)
			if got := eval[string](b, `document.activeElement.name`); got != "q" {
				t.Errorf("the focus went to %q", got)
			}
			b.do(chromedp.KeyEvent(strings.Repeat(kb.Backspace, 6)))
			b.until(`document.querySelectorAll("#failure-list tbody tr").length === 4`)
			b.click("#failure-list summary")
			b.until(`document.querySelector("#failure-list details").open`)
			f.change(func() { r.failures = r.failures[:3] })
			b.until(`document.querySelectorAll("#failure-list tbody tr").length === 3`)
			if !eval[bool](b, `document.querySelector("#failure-list details").open`) {
				t.Error("an update closes what was opened")
			}
		}},
		{"buttons", func(*testing.T) {
			state := func() (s jobs.State) {
				f.change(func() { s = r.State })
				return s
			}
			b.click("[data-action=pause]")
			b.until(`document.querySelector("#ask").open`)
			b.do(chromedp.KeyEvent(kb.Escape))
			b.until(`!document.querySelector("#ask").open`)
			b.click("[data-action=cancel]")
			b.click("#ask-no")
			b.until(`!document.querySelector("#ask").open`)
			if state() != jobs.Running {
				t.Fatalf("the run is %s though nothing was confirmed", state())
			}
			b.click("[data-action=pause]")
			b.until(`document.querySelector("#ask").open && document.activeElement.id === "ask-yes"`)
			b.do(chromedp.KeyEvent(kb.Enter))
			b.until(`document.querySelector("#heading .chip")?.textContent === "paused"`)
			if state() != jobs.Paused {
				t.Errorf("the run is %s", state())
			}
			b.until(`document.querySelector("#live").textContent === "live"`)
			b.click("[data-action=resume]")
			b.click("#ask-yes")
			b.until(`document.querySelector("#heading .chip")?.textContent === "running"`)
			b.until(`document.querySelector("#live").textContent === "live"`)
			b.click("[data-action=retry]")
			b.click("#ask-yes")
			b.until(`document.querySelector("#failures .empty") !== null`)
		}},
		{"late", func(*testing.T) {
			// A cell fails after the page was made and before its stream begins.
			id := command(b, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: `{
				const Real = window.EventSource;
				window.EventSource = class { constructor(address) { window.begin = () => {
					const s = new Real(address); s.onmessage = (e) => this.onmessage(e); this.close = () => s.close(); } } close() {} };
			}`}).Identifier
			b.do(chromedp.Navigate(base + "/run/overnight"))
			b.until(`window.begin && document.querySelector("#failures .empty") !== null`)
			f.change(func() { r.failures = []jobs.Failure{{Sweep: "far", Points: []int64{1000}, Error: "late", AtMs: 1}} })
			for len(s.hub.current().Run("overnight").Failures) == 0 {
				time.Sleep(time.Millisecond)
			}
			b.do(chromedp.Evaluate[chromedp.Void](`window.begin()`))
			b.until(`document.querySelectorAll("#failure-list tbody tr").length === 1`)
			command(b, cdppage.RemoveScriptToEvaluateOnNewDocument, cdppage.RemoveScriptToEvaluateOnNewDocumentParams{Identifier: id})
			b.open(base + "/run/overnight")
		}},
		{"lost", func(*testing.T) {
			b.until(`document.querySelector("#live").textContent === "live"`)
			f.change(func() { f.err = errNotThere })
			b.until(`document.querySelector("#banner").textContent.includes("does not answer") && document.querySelector("#live").textContent === "store lost"`)
			b.until(`document.querySelector("#sweep-squares").textContent.includes("50,000 of 50,000 values")`)
			f.change(func() { f.err = nil })
			b.until(`document.querySelector("#live").textContent === "live" && !document.querySelector("#banner").textContent.includes("does not answer")`)
		}},
		{"deleted", func(*testing.T) {
			b.open(base + "/run/old")
			f.change(func() { f.runs = slices.DeleteFunc(f.runs, func(r *fakeRun) bool { return r.ID.Name == "old" }) })
			b.until(`document.querySelector("#live").textContent === "this run was deleted"`)
		}},
	} {
		if !t.Run(step.name, func(t *testing.T) {
			b.t = t
			step.do(t)
		}) {
			break
		}
	}
	b.t = t
}

func TestSignIn(t *testing.T) {
	f, _ := lively(t)
	_, base := serveFake(t, Options{Store: f, Pace: 50 * time.Millisecond, Token: secret})
	b := newBrowser(t, 1000, 700)
	b.expect("401") // the browser notes the refusal
	b.do(chromedp.Navigate(base + "/run/overnight?sweep=far"))
	b.until(`document.activeElement.id === "token"`)
	b.do(chromedp.SendKeys("#token", "not the token at all"), chromedp.KeyEvent(kb.Enter))
	b.until(`document.querySelector("[role=alert]")?.textContent === "That is not the token."`)
	b.do(chromedp.SendKeys("#token", secret), chromedp.KeyEvent(kb.Enter))
	b.until(`location.pathname + location.search === "/run/overnight?sweep=far" && document.querySelector("#live")?.textContent === "live"`)
	if got := eval[string](b, `document.cookie`); got != "" {
		t.Errorf("scripts can read the cookie: %s", got)
	}
	if got := eval[string](b, `document.documentElement.outerHTML + location.href`); strings.Contains(got, secret) {
		t.Error("the page holds the token")
	}
	b.click("header form button")
	b.until(`location.pathname === "/login"`)
	b.do(chromedp.Navigate(base + "/"))
	b.until(`location.pathname === "/login"`)
}

// TestWithoutScript checks that the numbers and the map are there.
func TestWithoutScript(t *testing.T) {
	f, r := lively(t)
	_, base := serveFake(t, Options{Store: f, Pace: 50 * time.Millisecond})
	b := newBrowser(t, 1000, 900)
	b.open(base + "/run/overnight") // has the sums made
	b.until(`document.querySelectorAll(".c-ok").length === 2`)
	command(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.do(chromedp.Navigate(base + "/run/overnight?sweep=squares"))
	b.until(`document.querySelector("img.still")?.naturalWidth > 0`)
	b.until(`document.body.innerText.includes("33,000 of 50,000 values") && document.querySelectorAll(".c-ok").length === 2`)
	b.click("[data-action=pause]")
	b.until(`document.querySelector("h1")?.textContent === "Pause this run?"`)
	b.click("main form button")
	b.until(`document.querySelector("#heading .chip")?.textContent === "paused"`)
	if r.State != jobs.Paused {
		t.Errorf("the run is %s", r.State)
	}
	b.do(chromedp.SetValue("#filter [name=q]", "killed"))
	b.click("#filter button")
	b.until(`document.querySelectorAll("#failure-list tbody tr").length === 1`)
}

// TestEverybody checks each page in both schemes, wide and narrow: nothing
// sticks out, every text has contrast, every control a name.
func TestEverybody(t *testing.T) {
	f, r := lively(t)
	long := strings.Repeat("a-very-long-name-", 3)
	f.worker(long+":"+long, 4)
	r.reason("checkpoint not met: sum of power 3 to n = 20: expected 8151, found 8150")
	f.add("halted-"+long[:40], toySweep(t, "s", 50, 1, 1001)).reason("sweep s: stored cell n = 1…50 is corrupt: CRC-32C 00000000, want 00000001")
	o := Options{Store: f, Pace: 50 * time.Millisecond, Version: "test"}
	o.Kinds = func(jobs.Sweep) []Plot {
		return []Plot{{"value", "f(n)"}, {"ratio", "f(n)/n"}, {"histogram", "histogram of f(n)/n"}}
	}
	o.Plot = func(_ context.Context, w io.Writer, _, _, _, _ string, _, _ int64) error {
		_, err := io.WriteString(w, `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="300"/>`)
		return err
	}
	_, base := serveFake(t, o)
	b := newBrowser(t, 1280, 900)
	for _, size := range []struct {
		name       string
		wide, high int64
	}{{"wide", 1280, 1700}, {"middle", 800, 900}, {"narrow", 360, 740}} {
		b.size(size.wide, size.high)
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			for _, path := range []string{"/", "/run/overnight", "/run/halted-" + long[:40], "/run/overnight/cell?sweep=squares&n=501", "/run/overnight/confirm/cancel"} {
				b.do(chromedp.Navigate(base + path))
				if strings.HasPrefix(path, "/run/") && strings.Count(path, "/") == 2 {
					b.until(`document.querySelector(".legend") !== null && document.querySelector("#live").textContent === "live"`)
				}
				for _, problem := range eval[[]string](b, checks) {
					t.Errorf("%s, %s, %s: %s", size.name, scheme, path, problem)
				}
				b.shot(fmt.Sprintf("%s-%s-%s", size.name, scheme, strings.Trim(strings.NewReplacer("/", "_", "?", "_", "&", "_", "=", "_").Replace(path), "_")))
			}
		}
	}
}

func (r *fakeRun) reason(text string) { r.State, r.Reason = jobs.Halted, text }

// checks is a script that returns what is wrong with a page.
const checks = `(() => {
	const bad = [];
	const name = (e) => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + (e.className && e.className.baseVal === undefined ? "." + String(e.className).replace(/ /g, ".") : "") + " " + JSON.stringify((e.textContent || "").trim().slice(0, 40));
	const wide = document.documentElement.clientWidth;
	if (document.documentElement.scrollWidth > wide) {
		const out = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > wide + 1 && !e.closest(".hide, .skip"));
		bad.push("sticks out by " + (document.documentElement.scrollWidth - wide) + " px: " + out.slice(0, 3).map(name).join("; "));
	}
	const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
	const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const ground = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] === 1) return c; } return [255, 255, 255, 1]; };
	const seen = new Set();
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	let texts = 0;
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement;
		if (!walk.currentNode.nodeValue.trim() || seen.has(e) || e.closest("noscript, script, .skip, .hide, dialog:not([open]), [hidden]") || !e.getClientRects().length) continue;
		seen.add(e);
		texts++;
		const s = getComputedStyle(e);
		const [a, b] = [light(parse(s.color)), light(ground(e))];
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) bad.push("contrast " + ratio.toFixed(2) + ": " + name(e));
		if (parseFloat(s.fontSize) < 11.5) bad.push("text of " + s.fontSize + ": " + name(e));
	}
	if (texts < 5) bad.push("only " + texts + " texts were looked at");
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) bad.push("id " + id + " is there twice");
	for (const e of document.querySelectorAll("a, button, input:not([type=hidden]), [tabindex='0']")) {
		if (e.closest("dialog:not([open])")) continue;
		const label = e.getAttribute("aria-label") || (e.getAttribute("aria-labelledby") || "").split(" ").map((i) => document.getElementById(i)?.textContent || "").join("") ||
			e.textContent.trim() || (e.labels && [...e.labels].map((l) => l.textContent).join("").trim()) || "";
		if (!label) bad.push("no name: " + e.outerHTML.slice(0, 80));
	}
	for (const e of document.querySelectorAll("svg[role=img], progress")) if (!e.getAttribute("aria-label")) bad.push("no label: " + e.outerHTML.slice(0, 80));
	for (const e of document.querySelectorAll("img")) if (!e.alt) bad.push("no alt: " + e.src);
	for (const e of document.querySelectorAll("[aria-labelledby], [aria-describedby]"))
		for (const i of ((e.getAttribute("aria-labelledby") || "") + " " + (e.getAttribute("aria-describedby") || "")).trim().split(/\s+/))
			if (!document.getElementById(i)) bad.push("nothing is called " + i);
	if (document.querySelectorAll("h1").length !== 1) bad.push(document.querySelectorAll("h1").length + " h1");
	return bad;
})()`
