// What people see: rows and their parts. Text goes into text nodes as it is.

// el makes an element with text or children in it.
export function el(name, props = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (key === 'class') e.className = value;
    else if (key.startsWith('aria-') || key === 'role') e.setAttribute(key, value);
    else e[key] = value;
  }
  e.append(...children);
  return e;
}

// A segment is shown from its first visible character on, with the blanks
// before it.
const visible = /[^\s\u0085]|\ufeff/;
export const isBlank = (text) => !visible.test(text);

// Text is a growing piece of text. Deltas are written once a frame: a page that
// is not shown does no work for them.
class Text {
  #node = document.createTextNode('');
  #waiting = '';
  #blank = true;
  #frame = 0;

  constructor(box, body = box) {
    this.box = box;
    box.hidden = true;
    body.append(this.#node);
  }

  add(text) {
    this.#waiting += text;
    this.#frame ||= requestAnimationFrame(() => this.flush());
  }

  flush() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#node.appendData(this.#waiting);
    if (this.#blank && !isBlank(this.#waiting)) {
      this.#blank = false;
      this.box.hidden = false;
    }
    this.#waiting = '';
  }
}

export function question(text) {
  return el('article', { class: 'row user', 'aria-label': 'You' }, el('div', { class: 'text' }, text));
}

// Answer is the row of a run, live or as it was stored.
export class Answer {
  row = el('article', { class: 'row assistant', 'aria-label': 'Verbatim' });
  message = '';
  text = ''; // of all deltas, for the hash
  #parts = new Map();
  #thinking = [];
  #began = performance.now();
  #notes = el('div', { class: 'notes' });
  #waiting = el('p', { class: 'waiting' }, 'Waiting for the first word …');
  #decide;

  // decide(approval_id, choice) answers a request for approval and throws what
  // the server says against it.
  constructor(decide) {
    this.#decide = decide;
    this.row.append(this.#waiting, this.#notes);
  }

  // clear begins the run again.
  clear() {
    this.#parts.clear();
    this.#thinking = [];
    this.text = '';
    this.#notes.replaceChildren();
    this.row.replaceChildren(this.#waiting, this.#notes);
  }

  event(name, data) {
    if (data.msg_id) this.message = data.msg_id;
    switch (name) {
      case 'start':
        if (data.reset) this.clear();
        break;
      case 'reasoning':
        this.#segment(data.segment, 'reasoning').add(data.text);
        break;
      case 'delta':
        this.#thought();
        this.text += data.text;
        this.#segment(data.segment, 'text').add(data.text);
        break;
      case 'tool_drafting':
        this.#tool(data).add(data.args_delta || '');
        break;
      case 'tool_call':
        this.#thought();
        this.#tool(data).call(data.args === null ? data.args_text : JSON.stringify(data.args, null, 2));
        break;
      case 'approval_request':
        this.#tool(data).ask(data, this.#decide);
        break;
      case 'tool_result':
        this.#tool(data).result(data);
        break;
      case 'usage':
        this.usage(data);
        break;
      case 'cancelled':
        this.close('Stopped.');
        break;
      case 'end':
        this.close(finishes[data.finish] || '');
        break;
      case 'error':
        this.close('');
        break;
    }
  }

  // stored fills the row from GET /chats/{id}.
  stored(row) {
    this.message = row.message_id;
    for (const [i, part] of row.parts.entries()) {
      if (part.type === 'tool') {
        this.#tool(part).call(part.args === null ? part.args_text : JSON.stringify(part.args, null, 2));
        if (part.ok !== null) this.#tool(part).result(part);
        else if (part.approval && part.approval.decision === null) {
          this.#tool(part).ask({ ...part.approval, name: part.name, args: part.args }, this.#decide);
        }
        continue;
      }
      const text = this.#segment(part.segment || String(i), part.type);
      text.add(part.text);
      text.flush();
      if (part.type === 'reasoning' && part.seconds !== undefined) this.#thought(part.seconds);
    }
    if (row.usage) this.usage(row.usage);
    if (row.status === 'running') return this;
    this.close(row.status === 'cancelled' ? 'Stopped.' : finishes[row.finish] || '');
    return this;
  }

  usage(u) {
    const said = [`${u.chars} characters`];
    if (u.seconds) said.push(`${u.seconds.toFixed(1)} s`);
    if (u.ttft) said.push(`first word after ${u.ttft.toFixed(1)} s`);
    this.#note('usage', said.join(' · '));
  }

  // close says how the run ended; everything that came is on the page then.
  close(note) {
    for (const part of this.#parts.values()) {
      part.flush?.();
      part.answered?.();
    }
    this.#thought();
    this.#waiting.remove();
    if (note) this.#note('ending', note);
  }

  // fault shows why there is no more, with a way on.
  fault(message, again) {
    const p = el('p', { class: 'fault' }, message + ' ');
    if (again) p.append(el('button', { type: 'button', onclick: again }, 'Retry'));
    this.#notes.append(p);
  }

  #note(kind, text) {
    this.#notes.append(el('p', { class: kind }, text));
  }

  #place(part) {
    this.#waiting.remove();
    this.#notes.before(part);
  }

  #segment(id, kind) {
    const key = kind + id;
    if (!this.#parts.has(key)) {
      const body = el('div', { class: 'text' });
      let box = body;
      if (kind === 'reasoning') {
        box = el('details', { class: 'reasoning', open: true }, el('summary', {}, 'Thinking …'), body);
        this.#thinking.push(box);
        this.#began = performance.now();
      }
      this.#place(box);
      this.#parts.set(key, new Text(box, body));
    }
    return this.#parts.get(key);
  }

  // thought folds the reasoning so far: the answer goes on below it.
  #thought(seconds = (performance.now() - this.#began) / 1000) {
    for (const box of this.#thinking) {
      box.open = false;
      box.firstChild.textContent = `Thought for ${Math.max(1, Math.round(seconds))} s`;
    }
    this.#thinking = [];
  }

  #tool(data) {
    const key = 'tool' + data.call_id;
    if (!this.#parts.has(key)) {
      const tool = new Tool(data.name);
      this.#place(tool.box);
      this.#parts.set(key, tool);
    }
    return this.#parts.get(key);
  }
}

const finishes = {
  length: 'The model stopped at its length limit.',
  content_filter: 'The provider’s filter ended the answer.',
};

// Tool is the card of a call, from its draft to its result.
class Tool {
  #state = el('span', { class: 'state' }, 'is being prepared');
  #args = el('pre');
  #output = el('pre', { hidden: true });
  #question = null; // while it waits for a person

  constructor(name) {
    this.box = el('details', { class: 'tool' }, el('summary', {}, el('b', {}, name), ' ', this.#state), this.#args, this.#output);
  }

  // ask shows what the call would do, opened, with the ways to decide.
  ask(request, decide) {
    if (this.#question) return;
    this.say('waits for your decision');
    this.box.open = true;
    const said = el('p', { class: 'against', role: 'alert', hidden: true });
    const buttons = [['allow', 'Allow'], ['always', 'Always allow'], ['deny', 'Deny']].map(([choice, label]) =>
      el('button', { type: 'button', class: choice, onclick: () => answer(choice) }, label));
    const answer = async (choice) => {
      for (const b of buttons) b.disabled = true;
      try {
        await decide(request.approval_id, choice);
        this.answered();
        this.say(choice === 'deny' ? 'was denied' : 'is running');
      } catch (err) {
        said.textContent = err.message;
        said.hidden = false;
        for (const b of buttons) b.disabled = false;
      }
    };
    const until = new Date(request.expires_at).toLocaleTimeString();
    this.#question = el('div', { class: 'approval', role: 'group', 'aria-label': `Decide about ${request.name}` },
      el('p', {}, `${request.name} ${request.reason}`),
      el('p', { class: 'terms' }, `Risk: ${request.risk}. Without an answer by ${until} it is not run.`),
      el('p', { class: 'choices' }, ...buttons), said);
    this.box.append(this.#question);
  }

  // answered takes the question away, whoever has decided.
  answered() {
    this.#question?.remove();
    this.#question = null;
  }

  add(args) {
    this.#args.append(args);
  }

  call(args) {
    this.#args.textContent = args ?? '';
    this.say('is running');
  }

  say(state) {
    this.#state.textContent = state;
  }

  result(r) {
    this.answered();
    this.say(`${r.ok ? 'done' : 'failed'} · ${r.seconds.toFixed(1)} s`);
    this.#output.textContent = r.output;
    this.#output.hidden = r.output === '';
  }
}
