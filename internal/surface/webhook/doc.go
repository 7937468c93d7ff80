// Package webhook is the surface of programs: they write by a signed POST to
// /hooks/<name>, and each post goes to them as a signed POST to one address.
//
// Guarantee: a Send is one request on a connection of its own, which the HTTP
// library can't repeat either. A status of 2xx is a receipt, whatever follows it.
// A message is taken only when its signature is right, and what names it is part
// of what was signed, so a captured request can't be played again as a new one.
//
// Not promised: that a target which is not idempotent shows a post once. What it
// did with a request whose answer was lost, nobody can tell.
package webhook
