package config

import (
	"net"
	"strconv"
)

// Metrics says where a process can be watched.
type Metrics struct {
	// Listen is host:port; an empty string serves no metrics. Without host it is
	// 127.0.0.1; a host that other machines reach takes a token.
	Listen string
	// TokenFile is where Token was read from. Both are empty when no token is
	// asked for; Token is the variable's when there is no file.
	TokenFile string
	Token     Secret
}

const listenForm = "want HOST:PORT such as 127.0.0.1:8392"

// metricsToken finds the token in its file or variable; the higher layer wins.
func (l layered) metricsToken(m *Metrics, env func(string) (string, bool), p *problems) {
	tokens := []credential{{rank: l.rank[keyMetricsToken], at: l.at[keyMetricsToken], key: keyMetricsToken, value: m.TokenFile, file: true}}
	if v, ok := lookup(env, EnvMetricsToken); ok {
		tokens = append(tokens, credential{rank: byEnv, at: origin{file: EnvMetricsToken}, key: "metrics token", value: v})
	}
	m.Token = choose("token", tokens, p)
}

// validate says what is wrong with the address.
func (m Metrics) validate(p *problems, at map[string]origin) {
	if m.Listen == "" {
		return
	}
	if _, port, err := net.SplitHostPort(m.Listen); err != nil || !isPort(port) {
		p.add(at[keyMetricsListen], keyMetricsListen, quote(m.Listen)+" is no address to listen on", listenForm)
	}
}

// isPort reports whether the text is a TCP port; 0 stands for any that is free.
func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == text
}

// yaml returns the entries of the mapping metrics.
func (m Metrics) yaml() []string {
	var parts []string
	if m.Listen != "" {
		parts = append(parts, "listen: "+yamlText(m.Listen))
	}
	if m.TokenFile != "" {
		parts = append(parts, "token_file: "+yamlText(m.TokenFile))
	}
	return parts
}
