package archive

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"hash"

	"verbatim/internal/id"
)

const (
	format  = "verbatim-export"
	version = 1
	// chunkBytes is how much of a blob a line carries.
	chunkBytes = 48 << 10
)

// The lines of a file. A record is a line of its own in native form.
type (
	headerLine struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	// openLine begins a conversation.
	openLine struct {
		Open id.Conversation `json:"open"`
	}
	// blobLine announces a blob, whose data lines follow at once. Missing says
	// that it was lost before the export.
	blobLine struct {
		Blob    string `json:"blob"`
		Size    int64  `json:"size"`
		SHA256  string `json:"sha256"`
		Missing bool   `json:"missing,omitempty"`
	}
	dataLine struct {
		Data []byte `json:"data"`
	}
	// closeLine ends a conversation: the hash is of all its lines before.
	closeLine struct {
		Close   id.Conversation `json:"close"`
		Records int             `json:"records"`
		SHA256  string          `json:"sha256"`
	}
	// totalLine ends the file: the hash is of all lines before.
	totalLine struct {
		Conversations int    `json:"conversations"`
		SHA256        string `json:"sha256"`
	}
)

// readLine reads a line of ours: exactly the members of into, in their order, as
// they were written.
func readLine(line []byte, into any) bool {
	if json.Unmarshal(line, into) != nil {
		return false
	}
	again, err := json.Marshal(into)
	return err == nil && bytes.Equal(line, again)
}

// isLine reports whether a line's first member is this one.
func isLine(line []byte, member string) bool {
	return bytes.HasPrefix(line, []byte(`{"`+member+`":`))
}

func hexSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }
