package main

import (
	"strings"
	"testing"
)

func TestFrameTakesTheSizeItIsGiven(t *testing.T) {
	const text = "^^0000000000000000123-00000001"
	for _, want := range []int{100, 190, 230, 240} {
		if got := len(appendFrame(nil, text, 1, want)); got < want-1 || got > want+1 {
			t.Errorf("a frame of %d bytes takes %d", want, got)
		}
	}
	if got := string(appendFrame(nil, text, 7, 0)); got != "2c\r\ndata: "+text+"\nid: 7\n\n\r\n" {
		t.Errorf("an unpadded frame is %q", got)
	}
}

func TestFramesFollowEachOther(t *testing.T) {
	h := newHub()
	h.publish("a", 0)
	h.publish("b", 0)
	if len(h.starts) != 2 || !strings.HasPrefix(string(h.log[h.starts[1]:]), "f\r\ndata: b\nid: 2\n") {
		t.Errorf("the log is %q with events at %v", h.log, h.starts)
	}
}
