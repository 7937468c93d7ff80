// Package zulip is the surface of a bot in one Zulip organisation: it hears what
// people write over an event queue and posts over the REST API
// (https://zulip.com/api/rest).
//
// Guarantee: a Send or an Edit is at most one request that changes a
// conversation, and no library under it repeats that request. What a person wrote
// is asked for again until the inbox has it, over lost queues and restarts alike.
//
// Not promised: Zulip has no key that makes a message idempotent. A send whose
// answer was lost is settled by reading the conversation back, which can't find a
// post that somebody moved to another topic in the meantime.
//
// Zulip cuts a text that is too long and says that all is well, so no such text
// is sent.
package zulip
