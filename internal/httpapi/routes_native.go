package httpapi

import "slices"

// nativeRoutes are those of the native layer.
func (a *API) nativeRoutes() []Route {
	return slices.Concat(
		a.conversationRoutes(), a.messageRoutes(), a.queueRoutes(), a.runRoutes(),
		a.approvalRoutes(), a.fileRoutes(), a.archiveRoutes(), a.choiceRoutes(),
	)
}

// What several routes answer.
const (
	itemReply     = `{"id", "title", "project", "updated", "count": rows, "pinned", "archived", "unread", "model", "running": run or null, "queued": count, "last_seq"}`
	queueReply    = `{"held", "waiting": [{"run_id", "text", "attachments", "regenerate_of", "seq"}], "returned": [the same]}`
	receiptsReply = `{"run_id", "surfaces": [{"surface", "chat": {"id", "thread"?}, "state": "delivering", "delivered", "unknown", "refused", "expired" or "unsupported", "withheld": {"reasoning", "tools", "commentary"}, "link"?, "placements": [{"segment": id or null, "from"?, "to"?, "item", "post_id", "platform_id", "state", "attempts", "at", "error"?, "check"?}]}]}`
	runReply      = `{"run_id", "conversation", "state": "started" or "queued" or "dropped"}`
)

func (a *API) conversationRoutes() []Route {
	return []Route{
		{
			Method: "GET", Path: "/api/v1/conversations", Status: 200, handle: a.listConversations,
			Doc:   "A page of the conversations, newest first: ?limit=, ?cursor= (the next of the page before), ?project= (an empty one for those without), ?archived=true or false.",
			Reply: `{"conversations": [` + itemReply + `], "next": cursor or null}`,
		},
		{
			Method: "DELETE", Path: "/api/v1/conversations", Status: 200, handle: a.deleteConversations,
			Doc:  "Deletes the conversations that are named, or without ids every one.",
			Body: `{"confirm": true, "ids"?: [id]}`, Reply: `{"ok": true, "undo_until", "deleted": count, "missing": [id]}`,
		},
		{
			Method: "GET", Path: "/api/v1/conversations/{id}", Status: 200, handle: a.getConversation,
			Doc:   "One conversation as people see it, a running answer as far as it has come; what follows is at its events behind cursor.",
			Reply: `all of its line in the list, and {"forked_from": {"conversation", "message_id"} or null, "queue", "messages": as in GET /chats/{id}, "cursor"}`,
		},
		{
			Method: "PATCH", Path: "/api/v1/conversations/{id}", Status: 200, handle: a.patchConversation,
			Doc:  "Names a conversation, files it under a project, pins or archives it, gives it a model of its own (an empty one takes the general one), or notes up to which seq a person has seen it: all that is named, or none.",
			Body: `{"title"?, "project"?, "pinned"?, "archived"?, "model"?, "read"?: seq}`, Reply: itemReply,
		},
		{
			Method: "DELETE", Path: "/api/v1/conversations/{id}", Status: 200, handle: a.deleteConversation,
			Doc:   "Hides a conversation at once, and erases it later; its run is cancelled first.",
			Reply: `{"ok": true, "undo_until"}`,
		},
		{
			Method: "POST", Path: "/api/v1/conversations/{id}/restore", Status: 200, handle: a.restoreConversation,
			Doc: "Brings a deleted conversation back, until it is erased.", Reply: `{"ok": true}`,
		},
		{
			Method: "POST", Path: "/api/v1/conversations/{id}/fork", Status: 201, handle: a.forkConversation,
			Doc:  "Copies the messages from the first to this one, with all versions, into a new conversation. An answer under way is copied as interrupted.",
			Body: `{"message_id"}`, Reply: `{"id"}`,
		},
		{
			Method: "GET", Path: "/api/v1/conversations/{id}/events", Status: 200, handle: a.conversationEvents,
			Doc:   "All records of a conversation in native form: what there is, then what comes; with ?follow=false only what there is. With Last-Event-ID or ?after= it goes on after that record.",
			Reply: "text/event-stream",
		},
	}
}

func (a *API) messageRoutes() []Route {
	return []Route{
		{
			Method: "GET", Path: "/api/v1/conversations/{id}/messages", Status: 200, handle: a.listMessages,
			Doc:   "The last messages, in their order: ?limit=, and ?before= (the next of the answer before) for older ones. Only their text is read, however long the conversation is.",
			Reply: `{"messages": as in GET /chats/{id}, "next": seq or null, "last_seq"}`,
		},
		{
			Method: "DELETE", Path: "/api/v1/conversations/{id}/messages/{message_id}", Status: 200, handle: a.deleteMessage,
			Doc:   "Hides a turn at once, question and answer, whichever of them is named, and erases it later; its run is cancelled first. message_id is the question's.",
			Reply: `{"ok": true, "undo_until", "remaining": rows, "message_id"}`,
		},
		{
			Method: "POST", Path: "/api/v1/conversations/{id}/messages/{message_id}/restore", Status: 200, handle: a.restoreMessage,
			Doc: "Brings a deleted turn back, until it is erased.", Reply: `{"ok": true}`,
		},
		{
			Method: "POST", Path: "/api/v1/conversations/{id}/messages/{message_id}/version", Status: 200, handle: a.chooseVersion,
			Doc:  "Shows another version of an answer, named by its run or counted from 0.",
			Body: `{"run_id"} or {"n"}`, Reply: `{"run_id", "active", "count"}`,
		},
		{
			Method: "POST", Path: "/api/v1/conversations/{id}/messages/{message_id}/edit", Status: 202, handle: a.editMessage,
			Doc:  "Copies the conversation up to a question, and sends the question there with another text and the same files.",
			Body: `{"text", "run_id"?, "tools"?: bool}`, Reply: runReply,
		},
	}
}

func (a *API) queueRoutes() []Route {
	return []Route{
		{
			Method: "GET", Path: "/api/v1/conversations/{id}/queue", Status: 200, handle: a.getQueue,
			Doc:   "The messages that wait, in order, and those that were taken out unsent since the last one was sent.",
			Reply: queueReply,
		},
		{
			Method: "PATCH", Path: "/api/v1/conversations/{id}/queue/{run_id}", Status: 200, handle: a.editQueued,
			Doc: "Changes the text of a message that waits.", Body: `{"text"}`, Reply: queueReply,
		},
		{
			Method: "DELETE", Path: "/api/v1/conversations/{id}/queue/{run_id}", Status: 200, handle: a.removeQueued,
			Doc: "Takes a message out of the queue. Its run id stays used.", Reply: queueReply,
		},
		{
			Method: "POST", Path: "/api/v1/conversations/{id}/queue/resume", Status: 200, handle: a.resumeQueue,
			Doc: "Lets a held queue go on.", Reply: queueReply,
		},
	}
}

func (a *API) runRoutes() []Route {
	return []Route{
		{
			Method: "POST", Path: "/api/v1/runs", Status: 202, handle: a.startRun,
			Doc:   "Stores a message and answers; its run starts at once, or when its turn has come. Without a conversation it begins a new one. A known run_id with the same body starts nothing. regenerate_of is the message_id of a question; there is no prompt then.",
			Body:  `{"conversation"?, "prompt", "run_id"?, "tools"?: bool, "regenerate_of"?, "attachments"?: [{"name"?, "url": "data:…"} or {"name"?, "text"} or {"upload": id}]}`,
			Reply: runReply,
		},
		{
			Method: "GET", Path: "/api/v1/runs/{id}", Status: 200, handle: a.getRun,
			Doc:   "Where a run is, without its text. status is queued, dropped, running, complete, cancelled, failed or interrupted; waiting is its place in the queue, from 1.",
			Reply: `{"run_id", "conversation", "msg_id", "status", "model", "regenerate_of"?, "waiting", "started", "ended", "finish"?, "error"?, "usage"}`,
		},
		{
			Method: "POST", Path: "/api/v1/runs/{id}/cancel", Status: 200, handle: a.cancelRun,
			Doc:   "Stops a run, and takes what waits behind it out of the queue; a run that waits is taken out alone. Again, or after its end, it changes nothing and is still well.",
			Reply: `{"ok": true, "run_id"}`,
		},
		{
			Method: "GET", Path: "/api/v1/runs/{id}/events", Status: 200, handle: a.runEvents,
			Doc:   "The records of a run in native form, its question first: what there is, then what comes, to its end. With Last-Event-ID or ?after= it goes on after that record; 204 when nothing follows.",
			Reply: "text/event-stream",
		},
		{
			Method: "GET", Path: "/api/v1/runs/{id}/receipts", Status: 200, handle: a.getReceipts,
			Doc:   "Where a run was shown on chat platforms: for each chat what is withheld there, and which bytes of which segment are in which message. State is delivering until the run is over and nothing is left to post.",
			Reply: receiptsReply,
		},
		{
			Method: "GET", Path: "/api/v1/runs/{id}/verify", Status: 200, handle: a.verifyRun,
			Doc:   "The receipts, and for each message whether its platform still shows that: same, other, gone, or cannot where the platform can't be asked.",
			Reply: receiptsReply,
		},
	}
}

func (a *API) approvalRoutes() []Route {
	return []Route{
		{
			Method: "GET", Path: "/api/v1/approvals", Status: 200, handle: a.listApprovals,
			Doc:   "The tool calls that wait for a decision, oldest first. always says whether that can be chosen; words are those of the rule that it would make for a command.",
			Reply: `{"approvals": [{"approval_id", "conversation", "run_id", "msg_id", "call_id", "name", "args", "risk", "reason", "expires_at", "always", "words"?, "exact"?}]}`,
		},
		{
			Method: "POST", Path: "/api/v1/approvals/{id}", Status: 200, handle: a.decide,
			Doc:  "Decides about a tool call. args go with allow and replace what the model wrote; note is for the model. The first decision wins: the same one again is well, another one, or one that comes too late, is 409 and runs nothing.",
			Body: `{"decision": "allow" or "always" or "deny", "args"?: {…}, "note"?}`, Reply: `{"approval_id", "decision"}`,
		},
		{
			Method: "GET", Path: "/api/v1/rules", Status: 200, handle: a.listRules,
			Doc:   "The rules by which calls run without a question, oldest first.",
			Reply: `{"rules": [{"id", "tool", "words"?, "exact"?, "created", "by", "approval_id"?}]}`,
		},
		{
			Method: "DELETE", Path: "/api/v1/rules/{id}", Status: 200, handle: a.revokeRule,
			Doc: "Revokes a rule, from the next call on.", Reply: `{"ok": true}`,
		},
	}
}

func (a *API) fileRoutes() []Route {
	return []Route{
		{
			Method: "POST", Path: "/api/v1/uploads", Status: 201, handle: a.upload, file: true,
			Doc:  "Takes a file that messages can name for an hour: the whole body, with ?name=, or the one file of a form. What it is is decided from its bytes.",
			Body: "the file", Reply: `{"id", "name", "mime", "size", "expires_at"}`,
		},
		{
			Method: "GET", Path: "/api/v1/blobs/{id}", Status: 200, handle: a.getBlob,
			Doc:   "A file that came with a message, a whole output of a tool, or an upload: pictures and PDFs as they are, text as UTF-8, anything else to be saved; with ?download=true the bytes as they came, to be saved under ?name=. Parts of it with Range.",
			Reply: "the file",
		},
	}
}

func (a *API) archiveRoutes() []Route {
	return []Route{
		{
			Method: "GET", Path: "/api/v1/export", Status: 200, handle: a.exportAll,
			Doc: "Every conversation as one file.", Reply: "application/jsonl",
		},
		{
			Method: "GET", Path: "/api/v1/conversations/{id}/export", Status: 200, handle: a.exportConversation,
			Doc: "One conversation as a file.", Reply: "application/jsonl",
		},
		{
			Method: "POST", Path: "/api/v1/import", Status: 200, handle: a.importFile, file: true, limit: MaxImportBytes,
			Doc:  "Takes the conversations of a file in, each whole or not at all, and none over one that is there. A damaged file is 422, with what was imported of it.",
			Body: "the file", Reply: `{"conversations": [{"id", "state": "imported" or "unchanged" or "refused", "reason"?, "records"}]}`,
		},
	}
}

// choiceRoutes are those of what people look for and choose.
func (a *API) choiceRoutes() []Route {
	return []Route{
		{
			Method: "GET", Path: "/api/v1/search", Status: 200, handle: a.searchTexts,
			Doc:   "The newest questions and answers that have all words of ?q=, with ?tools=true outputs of tools too: ?limit=, ?cursor=, ?project=, ?conversation=; ?ranked=true gives the best of the newest on one page. Offsets are in bytes of UTF-8; ranges are in the snippet.",
			Reply: `{"hits": [{"conversation", "title", "message_id", "run_id", "call_id", "role": "user" or "assistant" or "tool", "seq", "turn_seq", "at", "snippet", "snippet_at", "ranges": [[from, to]]}], "next": cursor or null}`,
		},
		{
			Method: "GET", Path: "/api/v1/models", Status: 200, handle: a.listModels,
			Doc:   "The models that can answer, and why others can't.",
			Reply: `{"models": [{"name", "available", "reason"?, "current"}]}`,
		},
		{
			Method: "GET", Path: "/api/v1/settings", Status: 200, handle: a.getSettings,
			Doc: "The settings. Secrets are not in it.", Reply: `{key: value}`,
		},
		{
			Method: "PATCH", Path: "/api/v1/settings", Status: 200, handle: a.setSettings,
			Doc:  "Changes the keys that are named, all or none; null goes back to the default. They count from the next request on.",
			Body: `{key: value}`, Reply: `{key: value}`,
		},
		{
			Method: "GET", Path: "/api/v1/settings/schema", Status: 200, handle: a.getSchema,
			Doc:   "What each setting may be, in the order in which people are shown them.",
			Reply: `{"settings": [{"key", "type", "doc", "default", "min"?, "max"?, "max_bytes"?, "one_of"?, "secret"?, "display"?}]}`,
		},
		{
			Method: "GET", Path: "/api/v1/projects", Status: 200, handle: a.listProjects,
			Doc:   "The names of all projects, those that only conversations have too, and what projects tell the model.",
			Reply: `{"projects": [name], "instructions": {name: text}}`,
		},
		{
			Method: "PUT", Path: "/api/v1/projects", Status: 200, handle: a.setProject,
			Doc:  "Stores what a project tells the model, from the next request on; it may be empty.",
			Body: `{"project", "instructions"}`, Reply: `{"ok": true}`,
		},
	}
}
