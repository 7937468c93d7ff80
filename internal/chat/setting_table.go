package chat

import "time"

// SettingSpec says what is fixed about a setting.
type SettingSpec struct {
	Key string `json:"key"`
	// Type is string, number, integer or boolean.
	Type string `json:"type"`
	// Doc is a sentence for people.
	Doc string `json:"doc"`
	// Default is its value where neither a person nor the configuration says
	// otherwise; nil leaves it to the model's server.
	Default any `json:"default"`
	// Min and Max bound a number, MaxBytes a string in UTF-8; OneOf lists all
	// values there are.
	Min      *float64 `json:"min,omitempty"`
	Max      *float64 `json:"max,omitempty"`
	MaxBytes int      `json:"max_bytes,omitempty"`
	OneOf    []string `json:"one_of,omitempty"`
	// Secret values are written and never read.
	Secret bool `json:"secret,omitempty"`
	// Display settings are defaults that a device may override; they change
	// nothing of what is stored or sent.
	Display bool `json:"display,omitempty"`
	// address says that a string must be an http or https address or empty.
	address bool
}

// SettingTable returns the settings in the order of the reference page. A new
// setting is a line here.
func SettingTable() []SettingSpec {
	display := func(s SettingSpec) SettingSpec { s.Display = true; return s }
	return []SettingSpec{
		text("model", "", 200, "Which model answers, as provider/name. Empty means the one that the program found at its start."),
		number("temperature", 0, 2, "How freely the model chooses its words."),
		integer("max_tokens", nil, 1, 1<<31, "The most tokens that one answer may have."),
		number("top_p", 0, 1, "Share of likely words that the model chooses from."),
		choice("reasoning_effort", nil, "How long the model may think.", "minimal", "low", "medium", "high"),
		text("system_prompt", "", 100_000, "Instructions that stand before every conversation."),
		{Key: "base_url", Type: "string", Default: "", MaxBytes: 2000, address: true, Doc: "Address of the OpenAI-compatible server, including /v1. Empty means that of the provider."},
		{Key: "api_key", Type: "string", Default: "", MaxBytes: 1000, Secret: true, Doc: "Key for the model's server. It can be set and is never shown again."},
		choice("approval_mode", "ask", "Which tool calls ask first: ask from low risk on, smart from medium risk on, never none.", "ask", "smart", "never"),
		integer("approval_timeout", int64(300), 10, int64(time.Hour/time.Second), "How many seconds a request for approval waits before silence counts as no."),
		boolean("auto_title", false, "After the first answer the model is asked once for a title, unless somebody gave one."),
		display(boolean("confirm_delete", true, "Ask before something is deleted.")),
		display(boolean("show_reasoning", true, "Show the model's reasoning.")),
		display(boolean("collapse_reasoning", false, "Fold reasoning away once the answer begins.")),
		display(boolean("show_stats", true, "Show tokens and seconds under an answer.")),
		display(choice("tool_detail", "truncated", "How much of tool calls is shown.", "everything", "truncated", "nothing")),
		display(boolean("streaming", true, "Show answers as they come; off shows each when it is whole.")),
		display(bounded("streaming_speed", 0.4, 0, 1, "How fast text is revealed, from 0 (slow) to 1 (at once).")),
		display(integer("condense_paste", int64(4000), 0, 1_000_000, "A paste of more characters than this becomes an attached file; 0 never.")),
		display(choice("theme", "system", "Colours.", "system", "light", "dark")),
		display(integer("font_size", int64(16), 8, 40, "Size of text, in pixels.")),
		display(integer("code_font_size", int64(14), 8, 40, "Size of code, in pixels.")),
		display(boolean("reduce_motion", false, "No movement on the screen, whatever the device says.")),
	}
}

func text(key, fallback string, maxBytes int, doc string) SettingSpec {
	return SettingSpec{Key: key, Type: "string", Default: fallback, MaxBytes: maxBytes, Doc: doc}
}

func number(key string, low, high float64, doc string) SettingSpec {
	return SettingSpec{Key: key, Type: "number", Min: &low, Max: &high, Doc: doc}
}

func bounded(key string, fallback, low, high float64, doc string) SettingSpec {
	s := number(key, low, high, doc)
	s.Default = fallback
	return s
}

func integer(key string, fallback any, low, high int64, doc string) SettingSpec {
	return SettingSpec{Key: key, Type: "integer", Default: fallback, Min: new(float64(low)), Max: new(float64(high)), Doc: doc}
}

func boolean(key string, fallback bool, doc string) SettingSpec {
	return SettingSpec{Key: key, Type: "boolean", Default: fallback, Doc: doc}
}

func choice(key string, fallback any, doc string, values ...string) SettingSpec {
	return SettingSpec{Key: key, Type: "string", Default: fallback, OneOf: values, Doc: doc}
}
