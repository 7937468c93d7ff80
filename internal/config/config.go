// Package config holds the settings of a process in one documented struct. The
// struct's tags feed everything that speaks of a key: its default, its place in
// verbatim.yaml, its environment variable, its check and its line on the
// reference page.
//
// Guarantee: a value that Load returns has passed every check, and each of its
// keys can be traced to where it was set. Not promised: that what a value
// points to (a certificate, a model) works; that is found out when it is used.
package config

import "time"

// Config is what one process of Verbatim runs with.
//
// Tags: yaml is the key in the file; the environment variable is VERBATIM_ and
// the key in upper case; default is the value as one would write it, an empty
// one means "not set"; doc is a sentence for the reference page; secret keeps
// the value out of everything that is printed; unit, min and max bound numbers.
type Config struct {
	Addr      string `yaml:"addr" default:"127.0.0.1:4747" doc:"Where to listen, as host:port. Port 0 picks a free port. Anything but a loopback address needs TLS or insecure_listen."`
	Data      string `yaml:"data" doc:"The data directory. Empty means the platform's directory for application data, plus verbatim. Not allowed in the file inside the data directory itself."`
	Model     string `yaml:"model" doc:"Which model answers, as provider/name, for example openai/gpt-5-mini or ollama/llama3.2. Empty means the first that is found: OPENAI_API_KEY, a local Ollama, the built-in demo. A model chosen in the settings of the running server comes before this one."`
	Workspace string `yaml:"workspace" doc:"The folder that the agent works in. It must exist. It may not hold the data directory. Empty means the folder that the process was started in or, where that holds the data directory, the folder workspace inside the data directory."`

	InsecureListen bool     `yaml:"insecure_listen" default:"false" doc:"Allow an address beyond loopback without TLS. Only behind a proxy that adds TLS, or on a network where every machine is trusted."`
	TLSCert        string   `yaml:"tls_cert" doc:"Path of a certificate in PEM form. With tls_key the server speaks HTTPS and HTTP/2."`
	TLSKey         string   `yaml:"tls_key" doc:"Path of the certificate's private key in PEM form."`
	PublicURL      string   `yaml:"public_url" doc:"The address that people use when it is not the one the server listens on, for example https://chat.example.org behind a proxy. Scheme and host only. Its host is allowed and links are made of it."`
	AllowHosts     []string `yaml:"allow_hosts" doc:"Host names, beside loopback names and the host of public_url, that requests may name. No scheme, no port."`
	AllowOrigins   []string `yaml:"allow_origins" doc:"Origins of other web pages that may call the server, as scheme://host[:port]. They are echoed in CORS answers; no others are."`
	TrustedProxies []string `yaml:"trusted_proxies" doc:"Addresses (10.0.0.7) or networks (10.0.0.0/8) whose X-Forwarded-Proto and X-Forwarded-Host headers are believed."`
	BasePath       string   `yaml:"base_path" doc:"The path under which a proxy serves Verbatim, for example /chat. It starts with a slash and does not end with one."`

	LogLevel  string `yaml:"log_level" default:"info" oneof:"debug info warn error" doc:"The least severe line that is logged."`
	LogFormat string `yaml:"log_format" default:"text" oneof:"text json" doc:"How log lines are written on standard error."`

	SystemPrompt    string   `yaml:"system_prompt" doc:"Instructions that stand before every conversation."`
	Temperature     *float64 `yaml:"temperature" min:"0" max:"2" doc:"How freely the model chooses its words, 0 to 2. Empty leaves it to the model's server."`
	MaxTokens       *int64   `yaml:"max_tokens" min:"1" max:"2147483648" doc:"The most tokens that one answer may have. Empty leaves it to the model's server."`
	TopP            *float64 `yaml:"top_p" min:"0" max:"1" doc:"Share of likely words that the model chooses from, 0 to 1. Empty leaves it to the model's server."`
	ReasoningEffort string   `yaml:"reasoning_effort" oneof:"minimal low medium high" doc:"How long the model may think. Empty leaves it to the model's server."`
	BaseURL         string   `yaml:"base_url" doc:"Address of the OpenAI-compatible server, including /v1. Empty means that of the provider (OPENAI_BASE_URL, if set)."`
	APIKey          string   `yaml:"api_key" secret:"true" doc:"Key for the model's server. Empty means that of the provider (OPENAI_API_KEY, if set)."`
	ContextTokens   int      `yaml:"context_tokens" default:"100000" min:"1000" max:"10000000" doc:"The most tokens, by estimate, of earlier turns that are sent along with a prompt. The oldest turns are left out first; how many is recorded with the run."`

	ApprovalMode       string   `yaml:"approval_mode" default:"ask" oneof:"ask smart never" doc:"Which tool calls ask a person first: ask from low risk on, smart from medium risk on, never none. A choice in the settings of the running server comes before this one."`
	CommandEnvironment []string `yaml:"command_environment" doc:"Names of environment variables that commands of the agent see beside the ordinary ones. Names that sound like a secret are left out all the same."`
	FetchAllow         []string `yaml:"fetch_allow" doc:"Host names, or host:port, of the local network that the agent may fetch pages from. Public hosts need no entry."`

	KeepAlive    time.Duration `yaml:"keep_alive" default:"15s" min:"1s" max:"1m" doc:"A stream that has been silent for so long gets a comment line, so that proxies keep it open."`
	IdleTimeout  time.Duration `yaml:"idle_timeout" default:"120s" min:"1s" max:"1h" doc:"A model that sends nothing for so long is given up; what it said until then is kept."`
	BallastBytes int64         `yaml:"ballast_bytes" default:"8388608" min:"0" max:"1073741824" doc:"Size of the file that is given up when the disk is full, so that running answers can still be closed. 0 keeps none."`

	// Surfaces are the chat platforms, by name; they are only set in the file.
	Surfaces map[string]Surface `yaml:"-"`
}

// Default returns the configuration of a process that was told nothing.
func Default() Config {
	var c Config
	for _, k := range Keys() {
		if k.Default == "" {
			continue
		}
		if err := k.set(&c, k.Default); err != nil {
			panic("config: default of " + k.Name + ": " + err.Error())
		}
	}
	return c
}
