package config

// credential is one place that a user name or password may come from.
type credential struct {
	rank  rank
	at    origin
	key   string
	value string
	file  bool // value names a file that holds it
}

// credentials moves the user name and password out of the URL and adds those of
// the variables and files. The highest layer that gives one wins, as with every
// other setting; what stands in a URL belongs to the layer that gave the URL.
// The embedded store needs none, so no file is read for it.
func (l layered) credentials(r *Redis, env func(string) (string, bool), p *problems) {
	e, user, err := parseRedisURL(r.URL)
	if err != nil {
		return // validate says so
	}
	if e.Kind == Embedded {
		return
	}
	r.URL = withoutUser(r.URL)

	inURL := credential{rank: l.rank[keyURL], at: l.at[keyURL], key: keyURL}
	names := []credential{{rank: l.rank[keyUsername], at: l.at[keyUsername], key: keyUsername, value: r.Username}}
	passwords := []credential{{rank: l.rank[keyPasswordFile], at: l.at[keyPasswordFile], key: keyPasswordFile, value: r.PasswordFile, file: true}}
	if user != nil {
		name, secret := inURL, inURL
		name.value = user.Username()
		secret.value, _ = user.Password()
		names, passwords = append(names, name), append(passwords, secret)
	}
	sentinels := []credential{{rank: l.rank[keySentinelFile], at: l.at[keySentinelFile], key: keySentinelFile, value: r.SentinelPasswordFile, file: true}}
	if v, ok := lookup(env, EnvPassword); ok {
		passwords = append(passwords, credential{rank: byEnv, at: origin{file: EnvPassword}, key: "redis password", value: v})
	}
	if v, ok := lookup(env, EnvSentinelPassword); ok {
		sentinels = append(sentinels, credential{rank: byEnv, at: origin{file: EnvSentinelPassword}, key: "redis sentinel password", value: v})
	}
	r.Username = string(choose("user name", names, p))
	r.Password = choose("password", passwords, p)
	if e.Kind == Sentinel {
		r.SentinelPassword = choose("sentinels' password", sentinels, p)
	}
}

// choose returns the credential of the highest layer and reads its file.
func choose(what string, from []credential, p *problems) Secret {
	var best credential
	for _, c := range from {
		switch {
		case c.value == "":
		case best.value == "" || c.rank > best.rank:
			best = c
		case c.rank == best.rank && (c.value != best.value || c.file != best.file):
			p.add(c.at, c.key, "gives the "+what+" a second time, beside "+best.key, "want one of them")
			return ""
		}
	}
	if !best.file || best.value == "" {
		return Secret(best.value)
	}
	secret, err := readPassword(best.value)
	if err != nil {
		p.add(best.at, best.key, label(best.value)+" "+err.Error(), "want a file whose first line is the "+what)
	}
	return secret
}
