package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/viper"
)

// Option is a setting that a flag and a variable can give as well as the file.
type Option struct {
	// Key is its path in the file and in Source.Flags.
	Key string
	// Flag is the name of its flag, without dashes, and Env its variable.
	Flag, Env string
	// Default holds where nothing is given.
	Default string
	// Doc says in a few words what it is. The word in backquotes stands for the
	// value.
	Doc string
	// Lasting marks what concerns only processes that work until they are
	// stopped or done: run, scheduler and worker.
	Lasting bool
}

const (
	keyURL              = "redis.url"
	keyUsername         = "redis.username"
	keyPasswordFile     = "redis.password_file"
	keySentinelUsername = "redis.sentinel_username"
	keySentinelFile     = "redis.sentinel_password_file"
	keyCA               = "redis.ca_file"
	keyCert             = "redis.cert_file"
	keyKey              = "redis.key_file"
	keyDataDir          = "data_dir"
	keyConcurrency      = "workers.concurrency"
	keyMetricsListen    = "metrics.listen"
	keyMetricsToken     = "metrics.token_file"
)

// Variables that hold passwords. There are no flags for them, since every user
// of a machine can see flags.
const (
	EnvPassword         = "NSWEEP_REDIS_PASSWORD"
	EnvSentinelPassword = "NSWEEP_REDIS_SENTINEL_PASSWORD"
	EnvMetricsToken     = "NSWEEP_METRICS_TOKEN"
)

// Options returns all settings, in the order of the documentation.
func Options() []Option { return slices.Clone(options) }

var options = []Option{
	{keyURL, "redis", "NSWEEP_REDIS_URL", "embedded", "`store`: embedded, redis://, rediss://, redis-socket:// or redis-sentinel://", false},
	{keyUsername, "redis-username", "NSWEEP_REDIS_USERNAME", "", "ACL `user` of the store", false},
	{keyPasswordFile, "redis-password-file", "NSWEEP_REDIS_PASSWORD_FILE", "", "`file` whose first line is the store's password", false},
	{keySentinelUsername, "redis-sentinel-username", "NSWEEP_REDIS_SENTINEL_USERNAME", "", "ACL `user` of the sentinels", false},
	{keySentinelFile, "redis-sentinel-password-file", "NSWEEP_REDIS_SENTINEL_PASSWORD_FILE", "", "`file` whose first line is the sentinels' password", false},
	{keyCA, "redis-ca-file", "NSWEEP_REDIS_CA_FILE", "", "PEM `file` of the authorities to trust for TLS", false},
	{keyCert, "redis-cert-file", "NSWEEP_REDIS_CERT_FILE", "", "PEM `file` of the client's certificate", false},
	{keyKey, "redis-key-file", "NSWEEP_REDIS_KEY_FILE", "", "PEM `file` of the client's key", false},
	{keyDataDir, "data-dir", "NSWEEP_DATA_DIR", ".nsweep", "`folder` of the embedded store", false},
	{keyConcurrency, "concurrency", "NSWEEP_WORKERS_CONCURRENCY", "0", "`number` of tasks at a time in this process, 0 for one for each core", false},
	{keyMetricsListen, "metrics-listen", "NSWEEP_METRICS_LISTEN", "", "`address` of /metrics, /healthz and /readyz, such as 127.0.0.1:8392", true},
	{keyMetricsToken, "metrics-token-file", "NSWEEP_METRICS_TOKEN_FILE", "", "`file` whose first line is the token that /metrics asks for", true},
}

// The layers that a setting can come from; a higher one wins.
type rank int

const (
	byDefault rank = iota
	byFile
	byEnv
	byFlag
)

// layered holds the settings' texts after layering, and where each came from.
type layered struct {
	v    *viper.Viper
	rank map[string]rank
	at   map[string]origin
}

// layer puts the layers together: defaults, the file, variables and, on top,
// flags and --set. Variables arrive as a second file over the first one, since
// viper itself would read the process's and not the caller's. All values are
// text as it was written.
func layer(root *node, flags map[string]string, env func(string) (string, bool), p *problems) layered {
	l := layered{v: viper.New(), rank: map[string]rank{}, at: map[string]origin{}}
	fromFile, fromEnv, onTop := map[string]string{}, map[string]string{}, map[string]string{}
	use := func(m map[string]string, key, value string, r rank, at origin) {
		m[key], l.rank[key], l.at[key] = value, r, at
	}
	for _, o := range options {
		l.v.SetDefault(o.Key, o.Default)
		l.at[o.Key] = origin{file: "default"}
		steps, _, _ := resolve(o.Key, root, fileSchema) // the key is in the schema
		n := root.find(steps)
		if n != nil && !n.at.set {
			use(fromFile, o.Key, n.text, byFile, root.walk(steps))
		}
		if text, ok := lookup(env, o.Env); ok {
			use(fromEnv, o.Key, text, byEnv, origin{file: o.Env})
		}
		if n != nil && n.at.set {
			use(onTop, o.Key, n.text, byFlag, n.at)
		}
		if text, ok := flags[o.Key]; ok {
			if n != nil && n.at.set {
				p.add(n.at, o.Key, "is also given by --"+o.Flag, "want one of them")
			}
			use(onTop, o.Key, text, byFlag, origin{file: "--" + o.Flag})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(flags)) {
		if _, ok := l.at[key]; !ok {
			p.add(origin{}, key, "is not a setting that a flag can give", "")
		}
	}
	// --data-dir names a store just as --redis does. Alone it would have no
	// effect where the file or a variable names a Redis, so it means the
	// embedded store in that folder.
	if _, url := onTop[keyURL]; !url {
		if _, ok := flags[keyDataDir]; ok {
			use(onTop, keyURL, "embedded", byFlag, l.at[keyDataDir])
		}
	}
	for _, m := range []map[string]string{fromFile, fromEnv} {
		if err := l.v.MergeConfigMap(nested(m)); err != nil {
			p.add(origin{}, "", "settings cannot be merged: "+oneLine(err.Error()), "")
		}
	}
	for key, text := range onTop {
		l.v.Set(key, text)
	}
	return l
}

// lookup returns a variable; an empty one counts as not set.
func lookup(env func(string) (string, bool), name string) (string, bool) {
	if env == nil {
		return "", false
	}
	text, ok := env(name)
	return text, ok && text != ""
}

// nested turns keys with dots into maps of maps.
func nested(m map[string]string) map[string]any {
	out := map[string]any{}
	for key, text := range m {
		outer, inner, ok := strings.Cut(key, ".")
		if !ok {
			out[key] = text
			continue
		}
		sub, _ := out[outer].(map[string]any)
		if sub == nil {
			sub = map[string]any{}
			out[outer] = sub
		}
		sub[inner] = text
	}
	return out
}

// find returns the node that steps lead to, or nil.
func (n *node) find(steps []step) *node {
	for _, st := range steps {
		if n == nil {
			return nil
		}
		if st.key == "" {
			n = n.items[st.index]
		} else {
			n = n.get(st.key)
		}
	}
	return n
}

// settings layers all settings, checks them and reads password files.
func settings(root *node, flags map[string]string, env func(string) (string, bool), p *problems) (Settings, map[string]origin) {
	l := layer(root, flags, env, p)
	text := func(key string) string {
		s := l.v.GetString(key)
		if bad := textProblem(s); bad != "" && l.rank[key] != byDefault {
			p.add(l.at[key], key, bad, "want plain text")
			return ""
		}
		return s
	}
	s := Settings{
		DataDir: text(keyDataDir),
		Redis: Redis{
			Username: text(keyUsername), PasswordFile: text(keyPasswordFile),
			SentinelUsername: text(keySentinelUsername), SentinelPasswordFile: text(keySentinelFile),
			CAFile: text(keyCA), CertFile: text(keyCert), KeyFile: text(keyKey),
		},
		Metrics: Metrics{Listen: text(keyMetricsListen), TokenFile: text(keyMetricsToken)},
	}
	if c := text(keyConcurrency); c != "" {
		var v int64
		d := decoder{p}
		d.int(&node{text: c, at: l.at[keyConcurrency]}, keyConcurrency, 0, MaxConcurrency, &v)
		s.Workers.Concurrency = int(v)
	}
	before := len(p.list)
	if s.Redis.URL = text(keyURL); s.Redis.URL != "" {
		l.credentials(&s.Redis, env, p)
	}
	if len(p.list) == before && s.Redis.URL != "" {
		s.Redis.validate(p, l.at)
	}
	if before = len(p.list); s.Metrics.Listen != "" {
		l.metricsToken(&s.Metrics, env, p)
	}
	if len(p.list) == before {
		s.Metrics.validate(p, l.at)
	}
	return s, l.at
}

// validate checks settings. What came from text has been checked by then but for
// the store, and texts are only looked at for what could not be shown.
func (s Settings) validate(p *problems, at map[string]origin) {
	if s.DataDir == "" {
		p.add(at[keyDataDir], keyDataDir, "is empty", "want a folder such as .nsweep")
	}
	if c := s.Workers.Concurrency; c < 0 || c > MaxConcurrency {
		p.add(at[keyConcurrency], keyConcurrency, fmt.Sprintf("%d is out of range", c), fmt.Sprintf("want a whole number from 0 to %d", MaxConcurrency))
	}
	s.Redis.validate(p, at)
	s.Metrics.validate(p, at)
}

func (r Redis) validate(p *problems, at map[string]origin) {
	e, err := r.Endpoint()
	if err != nil {
		p.add(at[keyURL], keyURL, quote(Redact(r.URL))+" "+err.Error(), urlForms)
		return
	}
	if e.Kind == Embedded {
		return
	}
	for _, f := range []struct{ key, file string }{{keyCA, r.CAFile}, {keyCert, r.CertFile}, {keyKey, r.KeyFile}} {
		if f.file != "" && !e.TLS {
			p.add(at[f.key], f.key, "is given, but "+r.URL+" is not encrypted", "want rediss:// or, for sentinels, tls=true in the URL")
			return
		}
	}
	if (r.CertFile == "") != (r.KeyFile == "") {
		key, other := keyCert, keyKey
		if r.CertFile == "" {
			key, other = keyKey, keyCert
		}
		p.add(at[key], key, "is given without "+other, "want both or neither")
	}
}
