package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// vars makes a lookup function of a map.
func vars(m map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := m[name]
		return v, ok
	}
}

// TestPrecedence gives every setting in all four layers and takes them away
// from the top.
func TestPrecedence(t *testing.T) {
	type get func(Settings) string
	for key, c := range map[string]struct {
		values [4]string // default, file, variable, flag
		get    get
	}{
		"redis.url":           {[4]string{"embedded", "redis://file:6379", "redis://env:6379", "redis://flag:6379"}, func(s Settings) string { return s.Redis.URL }},
		"redis.username":      {[4]string{"", "f", "e", "c"}, func(s Settings) string { return s.Redis.Username }},
		"redis.ca_file":       {[4]string{"", "f", "e", "c"}, func(s Settings) string { return s.Redis.CAFile }},
		"data_dir":            {[4]string{".nsweep", "f", "e", "c"}, func(s Settings) string { return s.DataDir }},
		"workers.concurrency": {[4]string{"0", "1", "2", "3"}, func(s Settings) string { return fmt.Sprint(s.Workers.Concurrency) }},
		"metrics.listen":      {[4]string{"", "f:1", "e:2", ":3"}, func(s Settings) string { return s.Metrics.Listen }},
	} {
		var o Option
		for _, o = range Options() {
			if o.Key == key {
				break
			}
		}
		text := "name: x\nsweeps: [{name: a, engine: e, n: {to: 3}}]\n"
		src := Source{File: "f.yaml", Flags: map[string]string{}, Env: vars(map[string]string{})}
		if key == "redis.username" || key == "redis.ca_file" {
			// These matter only beside a Redis; the flag keeps it the same in
			// all layers.
			src.Flags["redis.url"] = "rediss://h"
		}
		for layer, want := range c.values {
			switch layer {
			case 1:
				if outer, inner, ok := strings.Cut(key, "."); ok {
					text += fmt.Sprintf("%s: {%s: \"%s\"}\n", outer, inner, want)
				} else {
					text += key + ": " + want + "\n"
				}
			case 2:
				src.Env = vars(map[string]string{o.Env: want})
			case 3:
				src.Flags[key] = want
			}
			src.Data = []byte(text)
			e, err := Load(src)
			if err != nil {
				t.Fatalf("%s, layer %d: %v", key, layer, err)
			}
			if got := c.get(e.Settings); got != want {
				t.Errorf("%s, layer %d: %q, want %q", key, layer, got, want)
			}
			if layer == 1 {
				continue // LoadSettings has no file
			}
			s, err := LoadSettings(src.Flags, src.Env)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.get(s); got != want {
				t.Errorf("%s without an experiment, layer %d: %q, want %q", key, layer, got, want)
			}
		}
	}
}

// TestSetBeatsVariable: --set is the command line, whatever the key.
func TestSetBeatsVariable(t *testing.T) {
	e, err := Load(Source{
		File: "f.yaml", Data: []byte(sound), Sets: []string{"workers.concurrency=5"},
		Env: vars(map[string]string{"NSWEEP_WORKERS_CONCURRENCY": "6"}),
	})
	if err != nil || e.Workers.Concurrency != 5 {
		t.Errorf("%v, %v", e, err)
	}
}

func TestDataDirFlagMeansEmbedded(t *testing.T) {
	env := vars(map[string]string{"NSWEEP_REDIS_URL": "redis://h"})
	for _, c := range []struct {
		flags map[string]string
		url   string
	}{
		{nil, "redis://h"},
		{map[string]string{"data_dir": "d"}, "embedded"},
		{map[string]string{"data_dir": "d", "redis.url": "redis://g"}, "redis://g"},
	} {
		s, err := LoadSettings(c.flags, env)
		if err != nil || s.Redis.URL != c.url {
			t.Errorf("%v: %s, %v; want %s", c.flags, s.Redis.URL, err, c.url)
		}
	}
	s, err := LoadSettings(nil, vars(map[string]string{"NSWEEP_REDIS_URL": "redis://h", "NSWEEP_DATA_DIR": "d"}))
	if err != nil || s.Redis.URL != "redis://h" {
		t.Errorf("%s, %v: the variable of the Redis comes first", s.Redis.URL, err)
	}
}

func TestSettingsRefused(t *testing.T) {
	for _, c := range []struct {
		flags, env map[string]string
		want       string
	}{
		{nil, map[string]string{"NSWEEP_WORKERS_CONCURRENCY": "many"}, "NSWEEP_WORKERS_CONCURRENCY: workers.concurrency: many is not an integer; " + intForms},
		{nil, map[string]string{"NSWEEP_WORKERS_CONCURRENCY": "2000"}, "NSWEEP_WORKERS_CONCURRENCY: workers.concurrency: 2000 is out of range; want a whole number from 0 to 1024"},
		{nil, map[string]string{"NSWEEP_REDIS_URL": "redis://u:s3cret@h/x"}, "NSWEEP_REDIS_URL: redis.url: redis://u:***@h/x has a database that is not a number from 0 to 65535; " + urlForms},
		{nil, map[string]string{"NSWEEP_DATA_DIR": "a\nb"}, "NSWEEP_DATA_DIR: data_dir: holds a control character or a line break; want plain text"},
		{map[string]string{"redis.url": "localhost:6379"}, nil, "--redis: redis.url: localhost:6379 has no known scheme; " + urlForms},
		{map[string]string{"data_dir": ""}, nil, "--data-dir: data_dir: is empty; want plain text"},
		{map[string]string{"workers.concurrency": "-1"}, nil, "--concurrency: workers.concurrency: -1 is out of range; want a whole number from 0 to 1024"},
		{map[string]string{"colour": "red"}, nil, "colour: is not a setting that a flag can give"},
		{map[string]string{"redis.url": "redis://:a@h"}, map[string]string{"NSWEEP_REDIS_PASSWORD_FILE": "/nonexistent"}, ""},
		{nil, map[string]string{"NSWEEP_REDIS_URL": "redis://:s3cret@h", EnvPassword: "other"}, "NSWEEP_REDIS_PASSWORD: redis password: gives the password a second time, beside redis.url; want one of them"},
		{nil, map[string]string{"NSWEEP_REDIS_URL": "redis://u@h", "NSWEEP_REDIS_USERNAME": "v"}, "NSWEEP_REDIS_URL: redis.url: gives the user name a second time, beside redis.username; want one of them"},
		{nil, map[string]string{"NSWEEP_REDIS_PASSWORD_FILE": "/nonexistent"}, ""}, // the embedded store asks for none
		{nil, map[string]string{"NSWEEP_METRICS_LISTEN": "8392"}, "NSWEEP_METRICS_LISTEN: metrics.listen: 8392 is no address to listen on; want HOST:PORT such as 127.0.0.1:8392"},
		{map[string]string{"metrics.listen": "h:99999"}, nil, "--metrics-listen: metrics.listen: h:99999 is no address to listen on; want HOST:PORT such as 127.0.0.1:8392"},
		{map[string]string{"metrics.listen": "http://h:9/"}, nil, "--metrics-listen: metrics.listen: http://h:9/ is no address to listen on; want HOST:PORT such as 127.0.0.1:8392"},
		{map[string]string{"metrics.listen": ":0", "metrics.token_file": "/nonexistent"}, nil, "--metrics-token-file: metrics.token_file: /nonexistent cannot be read: no such file or directory; want a file whose first line is the token"},
		{nil, map[string]string{"NSWEEP_METRICS_LISTEN": ":0", "NSWEEP_METRICS_TOKEN_FILE": "/nonexistent", EnvMetricsToken: "t"}, "NSWEEP_METRICS_TOKEN: metrics token: gives the token a second time, beside metrics.token_file; want one of them"},
		{nil, map[string]string{"NSWEEP_METRICS_TOKEN_FILE": "/nonexistent"}, ""}, // nobody listens
	} {
		_, err := LoadSettings(c.flags, vars(c.env))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v %v\n got %s\nwant %s", c.flags, c.env, got, c.want)
		}
	}
}

func TestMetricsToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{EnvMetricsToken: "from the variable", "NSWEEP_METRICS_LISTEN": "[::]:1"}
	for want, flags := range map[string]map[string]string{
		"from the variable": nil,
		"from file":         {"metrics.token_file": file},
	} {
		s, err := LoadSettings(flags, vars(env))
		if err != nil || s.Metrics.Token.Reveal() != want {
			t.Errorf("%q, %v; want %q", s.Metrics.Token.Reveal(), err, want)
		}
		if b, err := json.Marshal(s); err != nil || strings.Contains(string(b), "from") {
			t.Errorf("shown: %s, %v", b, err)
		}
	}
}

func TestEmptyVariableIsUnset(t *testing.T) {
	env := map[string]string{EnvPassword: "", EnvSentinelPassword: "", EnvMetricsToken: ""}
	for _, o := range Options() {
		env[o.Env] = ""
	}
	s, err := LoadSettings(nil, vars(env))
	if err != nil || s.DataDir != ".nsweep" || s.Redis.URL != "embedded" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestPassword(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := write("pw", "from file\r\nsecond line\n")
	for name, c := range map[string]struct {
		flags, env     map[string]string
		user, password string
	}{
		"in the URL":              {map[string]string{"redis.url": "redis://u:p%40ss@h"}, nil, "u", "p@ss"},
		"variable":                {map[string]string{"redis.url": "redis://h"}, map[string]string{EnvPassword: "env"}, "", "env"},
		"file":                    {map[string]string{"redis.url": "redis://h", "redis.password_file": file}, nil, "", "from file"},
		"flag over variable":      {map[string]string{"redis.url": "redis://h", "redis.password_file": file}, map[string]string{EnvPassword: "env"}, "", "from file"},
		"URL flag over variable":  {map[string]string{"redis.url": "redis://u:url@h"}, map[string]string{EnvPassword: "env", "NSWEEP_REDIS_USERNAME": "w"}, "u", "url"},
		"a lower URL is not used": {map[string]string{"redis.url": "redis://h"}, map[string]string{"NSWEEP_REDIS_URL": "redis://u:url@g"}, "", ""},
		"the same twice":          {map[string]string{"redis.url": "redis://h"}, map[string]string{EnvPassword: "env"}, "", "env"},
	} {
		s, err := LoadSettings(c.flags, vars(c.env))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s.Redis.Password.Reveal() != c.password || s.Redis.Username != c.user || s.Redis.URL != "redis://h" {
			t.Errorf("%s: user %q, password %q, URL %q", name, s.Redis.Username, s.Redis.Password.Reveal(), s.Redis.URL)
		}
	}
	for text, want := range map[string]string{
		"":                       "has an empty first line",
		"\nx":                    "has an empty first line",
		strings.Repeat("x", 1e5): "is larger than 65536 bytes",
	} {
		if _, err := readPassword(write("bad", text)); err == nil || err.Error() != want {
			t.Errorf("%.10q: %v, want %s", text, err, want)
		}
	}
	if _, err := readPassword(dir); err == nil || err.Error() != "is a folder, not a file" {
		t.Errorf("a folder: %v", err)
	}
}

func TestSentinelPassword(t *testing.T) {
	env := vars(map[string]string{EnvPassword: "redis", EnvSentinelPassword: "guard", "NSWEEP_REDIS_SENTINEL_USERNAME": "s"})
	s, err := LoadSettings(map[string]string{"redis.url": "redis-sentinel://u@a,b?master=m"}, env)
	if err != nil || s.Redis.Password != "redis" || s.Redis.SentinelPassword != "guard" || s.Redis.SentinelUsername != "s" || s.Redis.Username != "u" {
		t.Errorf("%+v, %v", s, err)
	}
	if s.Redis.URL != "redis-sentinel://a,b?master=m" {
		t.Error(s.Redis.URL)
	}
}

// TestSecretsAreNotShown prints an experiment and its errors in every way that
// programs print things.
func TestSecretsAreNotShown(t *testing.T) {
	const secret = "hunter2"
	e, err := Load(Source{
		File: "f.yaml", Data: []byte(replaced(t, "url: embedded", "url: redis://u:"+secret+"@h")),
	})
	if err != nil {
		t.Fatal(err)
	}
	if e.Redis.Password.Reveal() != secret {
		t.Fatalf("the password is %q", e.Redis.Password.Reveal())
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	pw := e.Redis.Password
	for _, s := range []string{
		string(text), string(e.YAML()), e.Redis.URL,
		fmt.Sprint(e), fmt.Sprintf("%v %+v %#v", *e, e, *e), fmt.Sprintf("%s %q %x %X %v %d", pw, pw, pw, pw, &pw, pw),
		fmt.Sprintf("%+v", *e.root), fmt.Sprintf("%+v", *e.root.get("redis").get("url")),
		fmt.Errorf("x %w", e.Errorf("redis.url", "is "+e.Redis.URL, "")).Error(),
	} {
		if strings.Contains(s, secret) || strings.Contains(s, fmt.Sprintf("%x", secret)) {
			t.Errorf("the password shows in %s", s)
		}
	}
	if fmt.Sprint(pw) != "***" || fmt.Sprint(Secret("")) != "" {
		t.Errorf("a secret is shown as %v, none as %v", pw, Secret(""))
	}
	// Wherever the password stands in a broken URL, the error keeps it back.
	for _, url := range []string{
		"redis://:hunter2@h:0", "redis://hunter2@h:0", "redis://u:hunter2@[", "redis://u:hun%ter2hunter2@h", "rediss://u:hunter2@h?x=1",
		"redis://h?password=hunter2", "redis://u:p/hunter2@h", "redis://u:p?hunter2@h", "redis://u:p#hunter2@h", "redis-socket://u:hunter2@/", "u:hunter2@h:6379",
		"redis-sentinel://u:hunter2@a,b", "redis://u:a@hunter2@h:0", "http://hunter2@h", "redis-sentinel://a?master=m&tls=x&auth=hunter2",
	} {
		_, err := load(replaced(t, "url: embedded", `url: "`+url+`"`))
		if err == nil {
			t.Errorf("%s was accepted", url)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("the password shows in %v", err)
		}
	}
}
