package surfacetest

import (
	"net/http"

	"verbatim/internal/surface"
)

// Kit is a surface beside its far end, made anew for each case. Everything in it
// is made inside the bubble of the case (see Run), so that time is virtual:
// time.Now and timers may be used as they are. A surface that edits or reads back
// has a far end that is Changed; one without Reach, one that is Polled; one with
// buttons, one that is Pressed.
type Kit struct {
	Surface surface.Surface
	Far     Far
	// Net is what the surface's client and the far end are connected by: see
	// NewNet.
	Net *Net
	// Log is what the surface's logger writes to: see NewLog.
	Log *Log
	// Chat is a chat that exists; Other is another one, and zero where all
	// posts go to one place.
	Chat, Other surface.Chat
	// Person writes in Chat.
	Person surface.Person
	// Secrets are the strings that must be in no Detail, no error and no line
	// of the log.
	Secrets []string
	// Again makes the surface anew over the same far end, as after a restart:
	// it has nothing but what its Inbox keeps.
	Again func() surface.Surface
	// Reach tells the far end what answers POST <base path>/hooks/<name>. It is
	// set where what people do is pushed to the surface's ServeHook, and nil
	// where the surface asks for it. It is called before Listen.
	Reach func(hook http.Handler)
	// TellsChange says that the platform tells when a person changed a message,
	// TellsRemove when a message was deleted. Then Far is Changed.
	TellsChange, TellsRemove bool
}
