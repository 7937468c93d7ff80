package provider

import (
	"slices"
	"strings"

	"verbatim/internal/provider/script"
)

// TextOnly reports whether the model of that name, as Open takes it, is known to
// take nothing but text: no pictures, no PDF. It knows the built-in agent, every
// script, and widely used models whose makers say so. False means only that
// nothing is known; such a model is sent what there is.
func TextOnly(name string) bool {
	provider, rest := split(name)
	if provider == script.Builtin || provider == "script" {
		return true
	}
	model := strings.ToLower(rest[strings.LastIndexByte(rest, '/')+1:])
	model = strings.TrimSuffix(model, ":latest")
	if slices.Contains(textOnlyModels(), model) {
		return true
	}
	return !slices.ContainsFunc(strings.FieldsFunc(model, isSeparator), seesPictures) &&
		slices.ContainsFunc(textOnlyFamilies(), func(family string) bool { return isOf(model, family) })
}

// isOf reports whether a model's name is the family's, or goes on after it with a
// size, a date or another detail: gpt-3.5-turbo is of gpt-3.5, and qwen2.5vl is
// not of qwen2.5.
func isOf(model, family string) bool {
	rest, ok := strings.CutPrefix(model, family)
	return ok && (rest == "" || isSeparator(rune(rest[0])))
}

func isSeparator(r rune) bool { return r == '-' || r == ':' || r == '_' || r == '@' }

// seesPictures reports whether a part of a model's name says that it takes more
// than text.
func seesPictures(part string) bool {
	switch part {
	case "vision", "vl", "v", "vlm", "omni", "multimodal", "image", "ocr", "llava":
		return true
	}
	return false
}

// textOnlyModels are models of families in which others take pictures.
func textOnlyModels() []string {
	return []string{
		"gpt-4", "gpt-4-0314", "gpt-4-0613", "gpt-4-32k", "gpt-4-1106-preview", "gpt-4-0125-preview", "gpt-4-turbo-preview",
		"deepseek-chat", "deepseek-reasoner",
		"gemma3:1b", "gemma3:270m", "gemma-3-1b-it", "gemma-3-270m-it",
		"moonshot-v1-8k", "moonshot-v1-32k", "moonshot-v1-128k",
	}
}

// textOnlyFamilies are families of which every member takes only text, unless its
// name says otherwise.
func textOnlyFamilies() []string {
	return []string{
		// OpenAI
		"gpt-3.5", "gpt-oss", "o1-mini", "o1-preview", "o3-mini",
		// DeepSeek
		"deepseek-coder", "deepseek-r1", "deepseek-v2", "deepseek-v2.5", "deepseek-v3", "deepseek-v3.1", "deepseek-v3.2",
		// Llama
		"llama2", "llama-2", "llama3", "llama-3", "llama3.1", "llama-3.1", "llama3.2", "llama-3.2", "llama3.3", "llama-3.3",
		"codellama", "tinyllama",
		// Qwen
		"qwen1.5", "qwen2", "qwen2.5", "qwen2.5-coder", "qwen3-coder", "qwq",
		// Mistral
		"mistral-7b", "mistral-nemo", "open-mistral", "open-mixtral", "mixtral", "codestral",
		// Microsoft, Google, IBM, Cohere
		"phi3", "phi-3", "phi3.5", "phi-3.5", "phi4", "phi-4", "gemma2", "gemma-2", "codegemma",
		"granite3", "granite3.1", "granite3.3", "command-r", "command-r7b",
		// Others
		"kimi-k2", "glm-4.5", "glm-4.6", "minimax-m1", "minimax-m2", "starcoder", "starcoder2", "smollm", "smollm2", "olmo2",
	}
}
