// The session: a token that came in the address's fragment, and calls that carry it.
//
// The fragment is never sent to a server, and leaves the address bar and the history at once. For a
// reload the token stays in this tab's session storage, which no other origin and no other tab
// reads.

const kept = 'token';
const header = 'X-Cpar-Token';

function claim() {
  const found = /^#token=([\w-]+)$/.exec(location.hash);
  if (found) {
    history.replaceState(null, '', location.pathname);
    sessionStorage.setItem(kept, found[1]);
  }
  return sessionStorage.getItem(kept) ?? '';
}

const token = claim();

// A Failure is an answer that says what went wrong, and what to do.
export class Failure extends Error {
  constructor(status, said) {
    super(said?.error ?? `the program answered with ${status}`);
    this.status = status;
    this.hint = said?.hint ?? '';
  }
}

async function send(path, { headers, ...rest } = {}) {
  let answer;
  try {
    answer = await fetch('/api/' + path, { ...rest, headers: { ...headers, [header]: token }, cache: 'no-store', redirect: 'error' });
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw new Failure(0, { error: 'the program does not answer', hint: 'start cpar ui again and open the address that it prints' });
  }
  if (!answer.ok) throw new Failure(answer.status, await answer.json().catch(() => null));
  return answer;
}

// get and post answer with what the program says.
export const get = async (path) => (await send(path)).json();
export const post = async (path, value) =>
  (await send(path, { method: 'POST', body: JSON.stringify(value), headers: { 'Content-Type': 'application/json' } })).json();

// upload sends a photo.
export const upload = async (file) =>
  (await send('drop', {
    method: 'POST', body: file,
    headers: { 'Content-Type': 'application/octet-stream', 'X-Cpar-Name': encodeURIComponent(file.name) },
  })).json();

// download answers with a file's bytes.
export const download = async (path) => (await send(path)).blob();

// show puts a photo into an image element. Images cannot carry the token, so the bytes are fetched and shown
// from memory.
export async function show(img, id, size, signal) {
  const blob = await (await send(`picture/${id}?size=${size}`, { signal })).blob();
  const address = URL.createObjectURL(blob);
  img.addEventListener('load', () => URL.revokeObjectURL(address), { once: true });
  img.addEventListener('error', () => URL.revokeObjectURL(address), { once: true });
  img.src = address;
  await img.decode().catch(() => {});
}
