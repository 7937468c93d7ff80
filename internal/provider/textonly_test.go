package provider

import "testing"

func TestTextOnly(t *testing.T) {
	tests := []struct {
		name string
		want bool
	}{
		{"demo", true},
		{"script:/a/b.txt", true},
		{"script/file.txt", true},
		{"openai/gpt-3.5-turbo-0125", true},
		{"openai/gpt-4", true},
		{"openai/o3-mini", true},
		{"openai/o3-mini-2025-01-31", true},
		{"openai/openai/gpt-oss-120b", true},
		{"openai/deepseek-chat", true},
		{"openai/deepseek/deepseek-r1:free", true},
		{"openai/meta-llama/Llama-3.3-70B-Instruct", true},
		{"ollama/llama3.2", true},
		{"ollama/llama3.2:3b", true},
		{"ollama/llama3:latest", true},
		{"ollama/qwen2.5:7b-instruct", true},
		{"ollama/phi4-mini", true},
		{"ollama/gemma3:1b", true},

		{"openai/gpt-5-mini", false},
		{"openai/gpt-4o", false},
		{"openai/gpt-4-turbo", false},
		{"openai/gpt-4-vision-preview", false},
		{"openai/o3", false},
		{"openai/o1", false},
		{"openai/deepseek-ocr", false},
		{"openai/deepseek-vl2", false},
		{"openai/meta-llama/Llama-3.2-11B-Vision-Instruct", false},
		{"openai/glm-4.5v", false},
		{"ollama/llama3.2-vision:11b", false},
		{"ollama/llava-llama3", false},
		{"ollama/llama4", false},
		{"ollama/qwen2.5vl:7b", false},
		{"ollama/qwen2.5-vl", false},
		{"ollama/gemma3", false},
		{"openai/google/gemma-3-4b-it", false},
		{"openai/qwen-plus", false},
		{"openai/moonshotai/kimi-k2.5", false},
		{"ollama/gemma3:12b", false},
		{"ollama/phi-4-multimodal-instruct", false},
		{"ollama/granite3.2-vision", false},
		{"openai/", false},
		{"", false},
		{"somebody/demo", false},
	}
	for _, test := range tests {
		if got := TextOnly(test.name); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}
