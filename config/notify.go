package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// EnvNotifySecret is the variable with the secret that signs messages. It is
// read by the process that sends them, never stored.
const EnvNotifySecret = "NSWEEP_NOTIFY_SECRET"

// Notify says where to send messages about a run.
type Notify struct {
	// URL is the http or https address of a webhook.
	URL string
	// On lists what to tell: complete, halted, failed, stalled; all when empty.
	On []string
	// StallAfter is how long nothing may be finished before the run counts as
	// stalled; 0 for a quarter of an hour.
	StallAfter time.Duration
}

// notifyKinds are the events that messages are about.
var notifyKinds = []string{"complete", "halted", "failed", "stalled"}

// minStall keeps a slow cell from being taken for a stalled run.
const minStall = time.Minute

// notify decodes the section.
func (d *decoder) notify(n *node) *Notify {
	if n == nil {
		return nil
	}
	var o Notify
	d.text(n.get("url"), "notify.url", &o.URL)
	if on := n.get("on"); on != nil {
		for i, item := range on.items {
			var kind string
			d.text(item, fmt.Sprintf("notify.on[%d]", i), &kind)
			o.On = append(o.On, kind)
		}
	}
	var stall string
	d.text(n.get("stall_after"), "notify.stall_after", &stall)
	if stall != "" {
		var err error
		if o.StallAfter, err = time.ParseDuration(stall); err != nil || o.StallAfter < minStall {
			d.refuse(n.get("stall_after"), "notify.stall_after", quote(stall)+" is not a time of a minute or more", "want 15m or 2h")
		}
	}
	return &o
}

// notify checks the section. The address may hold a secret, so it is not shown.
func (v *validator) notify(o *Notify, n *node) {
	if o == nil {
		return
	}
	at := n.get("url")
	u, err := url.Parse(o.URL)
	switch {
	case at != nil && at.bad:
	case o.URL == "":
		v.add("notify.url", "is missing", "want the http or https address of a webhook")
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		v.add("notify.url", "is no http or https address", "want https://example.org/hook")
	}
	for i, kind := range o.On {
		if kind != "" && !slices.Contains(notifyKinds, kind) {
			v.add(fmt.Sprintf("notify.on[%d]", i), quote(kind)+" is not an event", "want some of "+strings.Join(notifyKinds, ", "))
		}
	}
}

// yaml returns the fields for writing.
func (o *Notify) yaml() []string {
	out := []string{"url: " + yamlText(o.URL)}
	if len(o.On) > 0 {
		kinds := make([]string, len(o.On))
		for i, k := range o.On {
			kinds[i] = yamlText(k)
		}
		out = append(out, "on: ["+strings.Join(kinds, ", ")+"]")
	}
	if o.StallAfter > 0 {
		out = append(out, "stall_after: "+o.StallAfter.String())
	}
	return out
}
