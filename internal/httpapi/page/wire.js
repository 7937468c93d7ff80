// The wire: requests, and the stream of a run.

// Refusal is an answer that is an error. Temporary ones are worth another try.
export class Refusal extends Error {
  constructor(status, message, code) {
    super(message);
    this.status = status;
    this.code = code;
    this.temporary = status === 429 || status === 502 || status === 503 || status === 504;
  }
}

async function refusal(res) {
  let told = {};
  try {
    told = await res.json();
  } catch {
    // Not ours: a proxy's page, perhaps.
  }
  return new Refusal(res.status, told.error || `The server answered ${res.status}.`, told.code);
}

// call asks for JSON. It throws a Refusal, or a TypeError when nobody answers.
export async function call(method, path, body) {
  const options = { method, cache: 'no-store' };
  if (body !== undefined) {
    options.headers = { 'Content-Type': 'application/json' };
    options.body = JSON.stringify(body);
  }
  const res = await fetch(path, options);
  if (!res.ok) throw await refusal(res);
  return res.json();
}

// mint makes an id that nobody has. It works on plain HTTP too, where
// randomUUID does not.
export function mint(prefix) {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return prefix + Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');
}

// Frames cuts a stream into events. Lines end in LF; one space after a colon is
// not part of the value; a line that begins with a colon says nothing.
export class Frames {
  #rest = '';
  #event = { name: '', data: '', id: '' };

  push(text) {
    const events = [];
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop();
    for (const line of lines) {
      if (line === '') {
        if (this.#event.name) events.push(this.#event);
        this.#event = { name: '', data: '', id: '' };
        continue;
      }
      const colon = line.indexOf(':');
      const value = line.slice(colon + 1).replace(/^ /, '');
      if (colon > 0) this.#field(line.slice(0, colon), value);
    }
    return events;
  }

  #field(name, value) {
    if (name === 'event') this.#event.name = value;
    if (name === 'data') this.#event.data = value;
    if (name === 'id') this.#event.id = value;
  }
}

const terminals = new Set(['end', 'cancelled', 'error']);
const silence = 45_000; // three missed keep-alives: the connection is dead

// follow sends body, which names its run, and hands over the run's events, each
// once and in order, until the last. When the connection is lost it comes back
// with the id of the last event; the run id keeps the message from being sent
// twice. on.trouble hears of each lost connection, on.well of its end. It
// throws what the server refused for good.
export async function follow(body, on, signal) {
  let last = '';
  let wait = 500;
  while (!signal.aborted) {
    const attempt = new AbortController();
    const leave = () => attempt.abort();
    signal.addEventListener('abort', leave);
    try {
      const headers = { 'Content-Type': 'application/json' };
      if (last) headers['Last-Event-ID'] = last;
      const res = await fetch('chat', {
        method: 'POST', headers, body: JSON.stringify(body), signal: attempt.signal, cache: 'no-store',
      });
      if (res.status === 204) return;
      if (!res.ok) throw await refusal(res);
      on.well();
      for await (const event of eventsOf(res.body, attempt)) {
        wait = 500;
        const data = JSON.parse(event.data);
        if (!isNext(event.id, last, data)) continue;
        last = event.id;
        on.event(event.name, data);
        if (terminals.has(event.name)) return;
      }
    } catch (err) {
      if (signal.aborted) return;
      if (err instanceof Refusal && !err.temporary) throw err;
    } finally {
      signal.removeEventListener('abort', leave);
      attempt.abort();
    }
    on.trouble();
    await pause(wait * (0.75 + Math.random() / 2), signal);
    wait = Math.min(wait * 2, 15_000);
  }
}

// isNext says whether an event has not been seen. A start that says reset begins
// the run again.
function isNext(id, last, data) {
  if (!last || data.reset) return true;
  const [epoch, seq] = id.split('-');
  const [lastEpoch, lastSeq] = last.split('-');
  return epoch !== lastEpoch || Number(seq) > Number(lastSeq);
}

async function* eventsOf(stream, attempt) {
  const reader = stream.getReader();
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const frames = new Frames();
  let timer = 0;
  try {
    for (;;) {
      clearTimeout(timer);
      timer = setTimeout(() => attempt.abort(), silence);
      const { done, value } = await reader.read();
      if (done) return;
      yield* frames.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    clearTimeout(timer);
  }
}

// pause waits, but not longer than until the network or the page is back.
function pause(ms, signal) {
  return new Promise((resolve) => {
    const visible = () => {
      if (document.visibilityState === 'visible') wake();
    };
    const wake = () => {
      clearTimeout(timer);
      removeEventListener('online', wake);
      document.removeEventListener('visibilitychange', visible);
      signal.removeEventListener('abort', wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    addEventListener('online', wake);
    document.addEventListener('visibilitychange', visible);
    signal.addEventListener('abort', wake);
  });
}
