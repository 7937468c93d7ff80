package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// Chunk is one event of an OpenAI-compatible stream, as far as a relay looks
// into it.
type Chunk struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []Choice `json:"choices"`
}

// Choice is one answer in a chunk.
type Choice struct {
	Index int `json:"index"`
	Delta struct {
		Content string `json:"content"`
	} `json:"delta"`
	Finish *string `json:"finish_reason"`
}

const (
	before = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"bench","choices":[{"index":0,"delta":{"content":"^^`
	after  = `"},"finish_reason":null}]}` + "\n\n"
	// Last ends a stream.
	Last = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"bench","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
)

// AppendToken appends the chunk of one token: its send time in Unix
// nanoseconds and its number.
func AppendToken(b []byte, unixNano int64, seq int) []byte {
	b = append(b, before...)
	b = pad(b, unixNano, 19)
	b = append(b, '-')
	b = pad(b, int64(seq), 8)
	return append(b, after...)
}

func pad(b []byte, v int64, width int) []byte {
	var d [20]byte
	s := strconv.AppendInt(d[:0], v, 10)
	for range width - len(s) {
		b = append(b, '0')
	}
	return append(b, s...)
}

// Request returns the body of a request for a streamed answer.
func Request(s Script) []byte {
	return fmt.Appendf(nil, `{"model":"bench","stream":true,"messages":[{"role":"user","content":%q}]}`, s.String())
}

// Call asks a model server for a stream and returns its body.
func Call(ctx context.Context, c *http.Client, base string, body io.Reader) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("the model server answered %s", resp.Status)
	}
	return resp.Body, nil
}

// Read decodes a stream and calls each for every chunk until the stream ends.
func Read(r io.Reader, each func(Chunk) error) error {
	br := bufio.NewReaderSize(r, 16<<10)
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return err
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			return nil
		}
		var c Chunk
		if err := json.Unmarshal(data, &c); err != nil {
			return fmt.Errorf("decode a chunk: %w", err)
		}
		if err := each(c); err != nil {
			return err
		}
	}
}
