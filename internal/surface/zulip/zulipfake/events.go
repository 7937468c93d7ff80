package zulipfake

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

const (
	// idleTime is how long a queue lives that nobody asks
	// (https://zulip.com/api/register-queue).
	idleTime = 10 * time.Minute
	// heartbeat is how long a wait for events takes at most.
	heartbeat = 50 * time.Second
)

// queue is an event queue.
type queue struct {
	events []map[string]any
	next   int64
	// pruned is the last event that was acknowledged.
	pruned  int64
	asked   time.Time
	waiting int
	bulk    bool
	more    chan struct{} // closed when there is more, or the queue is gone
}

// register makes a queue (https://zulip.com/api/register-queue).
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	values, ok := params(w, r, "event_types", "fetch_event_types", "apply_markdown", "client_capabilities")
	if !ok || !s.trouble(w, r, s.TakeRead()) {
		return
	}
	var types, fetch []string
	var markdown bool
	can := map[string]bool{}
	if !read(values, "event_types", &types) || !read(values, "fetch_event_types", &fetch) || !read(values, "apply_markdown", &markdown) || !read(values, "client_capabilities", &can) {
		invalid(w, "event_types")
		return
	}
	if _, told := can["notification_settings_null"]; !told && len(can) > 0 {
		refuse(w, http.StatusBadRequest, "BAD_REQUEST", "notification_settings_null key is missing from client_capabilities")
		return
	}
	if markdown || !slices.Contains(types, "message") {
		invalid(w, "apply_markdown")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.minted++
	id := fmt.Sprintf("fb67bf8a-c031-47cc-84cf-ed80accac%03d", s.minted)
	s.queues[id] = &queue{pruned: -1, asked: s.o.Now(), more: make(chan struct{}), bulk: can["bulk_message_deletion"]}
	out := map[string]any{"queue_id": id, "last_event_id": -1, "zulip_feature_level": 421, "zulip_version": "11.4"}
	if slices.Contains(fetch, "realm") {
		out["max_message_length"] = s.o.MaxLength
		out["event_queue_longpoll_timeout_seconds"] = 90
		out["realm_name"] = "Example"
	}
	succeed(w, out)
}

// tell puts an event into all queues.
func (s *Server) tell(e map[string]any) {
	for _, q := range s.queues {
		one := map[string]any{}
		for name, v := range e {
			one[name] = v
		}
		if ids, ok := one["message_ids"].([]int64); ok && one["type"] == "delete_message" && !q.bulk {
			delete(one, "message_ids")
			one["message_id"] = ids[0]
		}
		one["id"] = q.next
		q.next++
		q.events = append(q.events, one)
		q.wake()
	}
}

func (q *queue) wake() {
	close(q.more)
	q.more = make(chan struct{})
}

func (s *Server) drop(id string) {
	close(s.queues[id].more)
	delete(s.queues, id)
}

// events waits for events (https://zulip.com/api/get-events). What was
// acknowledged is forgotten, and can't be asked for again.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	values, ok := params(w, r, "queue_id", "last_event_id")
	if !ok {
		return
	}
	last, err := strconv.ParseInt(values.Get("last_event_id"), 10, 64)
	if err != nil {
		invalid(w, "last_event_id")
		return
	}
	id, beat := values.Get("queue_id"), time.After(heartbeat)
	for {
		s.mu.Lock()
		q, problem := s.ask(id, last)
		if q == nil {
			s.mu.Unlock()
			answer(w, http.StatusBadRequest, problem)
			return
		}
		events, more := slices.Clone(q.events), q.more
		q.waiting++
		s.mu.Unlock()
		var waited bool
		if len(events) == 0 {
			events, waited = s.wait(r, q, more, beat)
		}
		s.mu.Lock()
		q.waiting--
		q.asked = s.o.Now()
		s.mu.Unlock()
		switch {
		case r.Context().Err() != nil:
			return
		case !waited:
			if s.trouble(w, r, s.TakeRead()) {
				succeed(w, map[string]any{"queue_id": id, "events": events})
			}
			return
		}
	}
}

// wait waits for more, or makes a heartbeat.
func (s *Server) wait(r *http.Request, q *queue, more <-chan struct{}, beat <-chan time.Time) (events []map[string]any, again bool) {
	select {
	case <-more:
		return nil, true
	case <-r.Context().Done():
		return nil, false
	case <-beat:
		s.mu.Lock()
		defer s.mu.Unlock()
		q.events = append(q.events, map[string]any{"type": "heartbeat", "id": q.next})
		q.next++
		return slices.Clone(q.events), false
	}
}

// ask finds a queue and forgets what is acknowledged.
func (s *Server) ask(id string, last int64) (*queue, map[string]any) {
	q := s.queues[id]
	if q != nil && q.waiting == 0 && s.o.Now().Sub(q.asked) >= idleTime {
		s.drop(id)
		q = nil
	}
	switch {
	case q == nil:
		return nil, map[string]any{"result": "error", "code": "BAD_EVENT_QUEUE_ID", "msg": "Bad event queue ID: " + id, "queue_id": id}
	case last < q.pruned:
		return nil, map[string]any{"result": "error", "code": "BAD_REQUEST", "msg": fmt.Sprintf("An event newer than %d has already been pruned!", last)}
	case last >= q.next:
		return nil, map[string]any{"result": "error", "code": "BAD_REQUEST", "msg": fmt.Sprintf("Event %d was not in this queue", last)}
	}
	q.pruned = last
	q.events = slices.DeleteFunc(q.events, func(e map[string]any) bool { return e["id"].(int64) <= last })
	return q, nil
}
