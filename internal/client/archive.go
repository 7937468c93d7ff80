package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Outcome is what became of one conversation of an imported file.
type Outcome struct {
	ID string `json:"id"`
	// State is imported, unchanged or refused.
	State string `json:"state"`
	// Reason is a sentence for people, empty for none.
	Reason  string `json:"reason"`
	Records int    `json:"records"`
}

// Export writes one conversation, or all when it is empty, to w as the server's
// export. On an error w may hold a part of it, which an import would not take for
// the whole.
func (c *Client) Export(ctx context.Context, w io.Writer, conversation string) error {
	path := "/api/v1/export"
	if conversation != "" {
		path = "/api/v1/conversations/" + url.PathEscape(conversation) + "/export"
	}
	resp, err := c.do(ctx, http.MethodGet, path, nil, "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return refusal(resp)
	}
	if _, err := io.Copy(w, resp.Body); err != nil {
		return fmt.Errorf("read the export: %w", err)
	}
	return nil
}

// maxOutcomes bounds the answer to an import, in bytes.
const maxOutcomes = 256 << 20

// Import sends a file and returns what became of each of its conversations. A
// file that is damaged is a *Refused, with the outcomes of what came before the
// damage.
func (c *Client) Import(ctx context.Context, file io.Reader) ([]Outcome, error) {
	// It is not closed: the file is the caller's.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Base+"/api/v1/import", io.NopCloser(file))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxOutcomes))
	if err != nil {
		return nil, fmt.Errorf("read what became of the import: %w", err)
	}
	var said struct {
		Conversations []Outcome `json:"conversations"`
	}
	parsed := json.Unmarshal(raw, &said)
	if resp.StatusCode != http.StatusOK {
		resp.Body = io.NopCloser(bytes.NewReader(raw))
		return said.Conversations, refusal(resp)
	}
	if parsed != nil {
		return nil, errors.Join(errors.New("the server's answer to the import can't be read"), parsed)
	}
	return said.Conversations, nil
}
