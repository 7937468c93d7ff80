package app

import (
	"bytes"
	"testing"

	"verbatim/internal/config"
	"verbatim/internal/golden"
)

// The page in docs/ is what the code says, chat platforms included.
func TestConfigurationReferencePage(t *testing.T) {
	var b bytes.Buffer
	if err := config.WriteReference(&b, Platforms()); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "../../docs/configuration.md", b.Bytes())
}
