import { Refusal, call, follow, mint } from './wire.js';
import { Answer, el, isBlank, question } from './view.js';

const $ = (id) => document.getElementById(id);
const log = $('log');
const prompt = $('prompt');

let chat = ''; // the id of the conversation on the page
let watched = null; // {run, stop} of the stream that is followed
let shown = 0; // counts the changes of conversation, so that late answers are dropped

// News are read out to those who can't see the page change.
const news = (text) => ($('news').textContent = text);

// ---- The way in

async function enter() {
  try {
    await call('GET', 'chats');
  } catch (err) {
    if (err instanceof Refusal && (err.status === 401 || err.status === 403)) return closed(err);
    // The server is away for the moment; the page says so where it matters.
  }
  if (location.hash === '#used-link') history.replaceState(null, '', location.pathname);
  $('door').hidden = true;
  $('app').hidden = false;
  about();
  route();
}

function closed(err) {
  watched?.stop.abort();
  if (location.hash === '#used-link') {
    $('door-why').textContent = 'That launch link was used before, or is older than ten minutes.';
  } else if (err.status === 403) {
    $('door-why').textContent = err.message;
  }
  $('app').hidden = true;
  $('door').hidden = false;
}

async function about() {
  try {
    const h = await call('GET', 'health');
    $('about').textContent = `Verbatim ${h.product_version} · ${h.model}`;
  } catch {
    // Nothing depends on it.
  }
}

// ---- Chats

async function listChats() {
  let chats;
  try {
    ({ chats } = await call('GET', 'chats'));
  } catch (err) {
    if (err instanceof Refusal && err.status === 401) closed(err);
    return;
  }
  $('no-chats').hidden = chats.length > 0;
  $('chat-list').replaceChildren(...chats.map((c) => {
    const link = el('a', { href: '#chat/' + c.id }, isBlank(c.title) ? c.id : c.title);
    if (c.id === chat) {
      link.setAttribute('aria-current', 'page');
      name(link.textContent);
    }
    return el('li', {}, link);
  }));
}

function name(title) {
  $('title').textContent = title;
  document.title = title === 'New chat' ? 'Verbatim' : `${title} · Verbatim`;
}

function route() {
  const id = location.hash.startsWith('#chat/') ? location.hash.slice(6) : '';
  menu(false);
  show(id);
}

// show puts a conversation on the page; none means a new one. Leaving a
// conversation does not stop its run.
async function show(id) {
  watched?.stop.abort();
  watch(null);
  chat = id;
  const mine = ++shown;
  name('New chat');
  listChats();
  log.replaceChildren();
  if (!id) return welcome();
  log.append(el('p', { class: 'waiting' }, 'Loading …'));
  let stored;
  try {
    stored = await call('GET', 'chats/' + id);
  } catch (err) {
    if (mine !== shown) return;
    log.replaceChildren();
    if (err instanceof Refusal && err.status === 404) return welcome();
    return trouble(err, () => show(id));
  }
  if (mine !== shown) return;
  const live = fill(stored);
  log.scrollTop = log.scrollHeight;
  if (stored.running) attach(stored, live);
}

function welcome() {
  log.replaceChildren(el('p', { class: 'welcome' }, 'Write a message below. The answer appears here as it comes.'));
  prompt.focus();
}

function trouble(err, again) {
  const message = err instanceof Refusal ? err.message : 'Verbatim can’t be reached.';
  log.append(el('p', { class: 'fault', role: 'alert' }, message + ' ', el('button', { type: 'button', onclick: again }, 'Try again')));
}

// fill writes the rows and returns the one whose run is under way.
function fill(stored) {
  let live = null;
  log.replaceChildren();
  for (const row of stored.messages) {
    if (row.role === 'user') {
      log.append(question(row.content));
      continue;
    }
    const answer = new Answer(decide).stored(row);
    log.append(answer.row);
    if (row.error) failed(answer, row.error);
    if (row.run_id === stored.running) live = answer;
  }
  return live;
}

// ---- Runs

const decide = (approval, choice) => call('POST', 'approve/' + encodeURIComponent(approval), { choice });

const keep = (run) => 'verbatim.run.' + run;

// attach goes on with a run that was under way when the page was opened. The
// server takes a run id only with the request that made it, so that is kept, or
// made again from what is on the page; where neither fits, the page looks now
// and then.
async function attach(stored, live) {
  const run = stored.running;
  const i = stored.messages.findIndex((m) => m.run_id === run);
  const kept = sessionStorage.getItem(keep(run));
  const body = kept ? JSON.parse(kept) : i > 0 && { prompt: stored.messages[i - 1].content, chat_id: stored.id, run_id: run };
  if (body) {
    const answer = live || new Answer(decide);
    if (!live) log.append(answer.row);
    const err = await answerOf(body, answer, { fresh: false });
    if (!err || err.status === 401 || stored.id !== chat) return;
  }
  look(stored.id);
}

function look(id) {
  const mine = shown;
  const stop = new AbortController();
  watch({ run: '', stop });
  const timer = setInterval(async () => {
    if (mine !== shown) return clearInterval(timer);
    try {
      const stored = await call('GET', 'chats/' + id);
      if (mine !== shown || stop.signal.aborted) return;
      const [atEnd, top] = [isAtEnd(), log.scrollTop];
      fill(stored);
      log.scrollTop = atEnd ? log.scrollHeight : top;
      if (!stored.running) {
        clearInterval(timer);
        watch(null);
      }
    } catch {
      // The next look may do better.
    }
  }, 2000);
  stop.signal.addEventListener('abort', () => clearInterval(timer));
}

async function send(text) {
  if (!chat) {
    chat = mint('web-');
    history.pushState(null, '', '#chat/' + chat);
    log.replaceChildren();
  }
  const asked = question(text);
  const answer = new Answer(decide);
  log.append(asked, answer.row);
  log.scrollTop = log.scrollHeight;
  const err = await answerOf({ prompt: text, chat_id: chat, run_id: mint('web-') }, answer, { fresh: true });
  if (!err) return;
  // Nothing was stored: the text goes back to where it was written.
  asked.remove();
  answer.row.remove();
  if (prompt.value === '') prompt.value = text;
  grow();
  if (err.code === 'conflict') await show(chat); // somebody else's run is under way here
  log.append(el('p', { class: 'fault', role: 'alert' }, err.message));
  follow_the_end();
}

// answerOf shows a run live. It returns the refusal, if the server did not take
// the request.
async function answerOf(body, answer, { fresh }) {
  const stop = new AbortController();
  const mine = shown;
  const here = body.chat_id;
  watch({ run: body.run_id, stop });
  sessionStorage.setItem(keep(body.run_id), JSON.stringify(body));
  let refused = null;
  let lost = null;
  let began = false;
  let started = false;
  const on = {
    event(name, data) {
      started ||= name === 'start';
      if (name === 'cancelled' && !started) {
        refused = new Refusal(0, 'This message waited, and was not sent because the answer before it was stopped or the message was taken out.', 'returned');
        return;
      }
      if (!began && !fresh) answer.clear();
      began = true;
      const atEnd = isAtEnd();
      answer.event(name, data);
      if (name === 'error') failed(answer, data);
      if (name === 'end') verify(here, mine, answer, data);
      if (name === 'start') listChats();
      tell(name, data);
      if (atEnd) requestAnimationFrame(follow_the_end);
    },
    trouble() {
      if (lost) return;
      lost = el('p', { class: 'lost', role: 'status' }, 'The connection was lost; trying to get it back. The answer goes on meanwhile.');
      answer.row.append(lost);
    },
    well() {
      lost?.remove();
      lost = null;
    },
  };
  try {
    await follow(body, on, stop.signal);
  } catch (err) {
    refused = err instanceof Refusal ? err : new Refusal(0, String(err.message || err));
  }
  on.well();
  sessionStorage.removeItem(keep(body.run_id));
  if (mine !== shown) return null;
  watch(null);
  if (!refused) {
    listChats();
    return null;
  }
  if (refused.status === 401) closed(refused);
  return refused;
}

// tell reads out what changed; the words of an answer are not read as they
// come, they would be cut off by the next.
function tell(name, data) {
  if (name === 'start') news('The answer begins.');
  if (name === 'end') news('The answer is complete.');
  if (name === 'cancelled') news('The answer was stopped.');
  if (name === 'approval_request') news(`${data.name} waits for your decision.`);
  if (name === 'error') news('The answer failed. ' + data.message);
}

function failed(answer, error) {
  const again = error.retryable === false ? null : () => regenerate(answer);
  answer.fault(error.message, again);
}

// regenerate asks for another answer to the same question. Where the question
// is now is looked up: rows may have moved.
async function regenerate(answer) {
  if (watched) return news('Wait for the answer, or stop it.');
  const mine = shown;
  try {
    const stored = await call('GET', 'chats/' + chat);
    const i = stored.messages.findIndex((m) => m.message_id === answer.message);
    if (mine !== shown || i < 1) return;
    const next = new Answer(decide);
    answer.row.replaceWith(next.row);
    const err = await answerOf({ chat_id: chat, regenerate_of: i - 1, run_id: mint('web-') }, next, { fresh: true });
    if (!err) return;
    next.row.replaceWith(answer.row);
    answer.fault(err.message, null);
    news(err.message);
  } catch (err) {
    trouble(err, () => show(chat));
  }
}

// verify compares what arrived with the hash that the server gave. If they
// differ the stored text is shown instead; this should never happen.
async function verify(id, mine, answer, end) {
  if (!crypto.subtle || !end.sha256) return;
  const sum = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(answer.text));
  const hex = Array.from(new Uint8Array(sum), (b) => b.toString(16).padStart(2, '0')).join('');
  if (hex === end.sha256 || mine !== shown) return;
  console.error('the text that arrived differs from the stored one', id);
  show(id);
}

function watch(what) {
  watched = what;
  $('send').hidden = what !== null;
  $('stop').hidden = what === null || what.run === '';
}

// ---- The page

const isAtEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < 40;
const follow_the_end = () => (log.scrollTop = log.scrollHeight);

function menu(open) {
  document.body.classList.toggle('menu', open);
  $('menu').setAttribute('aria-expanded', String(open));
}

function grow() {
  prompt.rows = Math.min(8, prompt.value.split('\n').length);
}

const touch = matchMedia('(pointer: coarse)');

$('composer').addEventListener('submit', (e) => {
  e.preventDefault();
  const text = prompt.value;
  if (isBlank(text)) return;
  if (watched) return news('Wait for the answer, or stop it.');
  prompt.value = '';
  grow();
  send(text);
});

prompt.addEventListener('input', grow);
prompt.addEventListener('keydown', (e) => {
  // On a phone Enter is the only way to a new line, and the button is near.
  if (e.key !== 'Enter' || e.shiftKey || e.isComposing || touch.matches) return;
  e.preventDefault();
  $('composer').requestSubmit();
});

$('stop').addEventListener('click', async () => {
  const run = watched?.run;
  if (!run) return;
  try {
    await call('POST', 'cancel/' + run);
  } catch (err) {
    trouble(err, (e) => {
      e.target.parentElement.remove();
      $('stop').click();
    });
  }
  prompt.focus();
});

$('menu').addEventListener('click', () => {
  const open = !document.body.classList.contains('menu');
  menu(open);
  if (open) listChats();
});
$('new').addEventListener('click', () => {
  history.pushState(null, '', location.pathname);
  route();
});
$('door-again').addEventListener('click', enter);
addEventListener('keydown', (e) => {
  if (e.key !== 'Escape' || !document.body.classList.contains('menu')) return;
  menu(false);
  $('menu').focus();
});
addEventListener('hashchange', route);
addEventListener('popstate', () => {
  if (!location.hash) route();
});

enter();
