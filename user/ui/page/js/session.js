// The session: the token from the URL fragment, and calls that carry it.
//
// Browsers never send the fragment, and the page removes it from the address bar and
// the history at once. For a reload the token stays in the session storage of this
// tab, which other origins and tabs cannot read.

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

// A Failure is an error response with a hint.
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
    throw new Failure(0, { error: 'the program does not respond', hint: 'start cpar ui again and open the address it prints' });
  }
  if (!answer.ok) throw new Failure(answer.status, await answer.json().catch(() => null));
  return answer;
}

// get and post return the decoded response.
export const get = async (path) => (await send(path)).json();
export const post = async (path, value, signal) =>
  (await send(path, { method: 'POST', body: JSON.stringify(value), headers: { 'Content-Type': 'application/json' }, signal })).json();

export const upload = async (file) =>
  (await send('drop', {
    method: 'POST', body: file,
    headers: { 'Content-Type': 'application/octet-stream', 'X-Cpar-Name': encodeURIComponent(file.name) },
  })).json();

export const download = async (path) => (await send(path)).blob();

// show loads a photo into an image element. Image requests cannot carry the token, so
// the bytes are fetched and shown from memory. While createObjectURL runs, the page
// waits for another process of the browser, so a grid of small pictures uses data:.
export async function show(img, id, size, signal) {
  const answer = await send(`picture/${id}?size=${size}`, { signal });
  if (answer.status === 204) throw new Failure(204, { error: 'there is no picture' });
  const blob = await answer.blob();
  const address = URL.createObjectURL(blob);
  img.addEventListener('load', () => URL.revokeObjectURL(address), { once: true });
  img.addEventListener('error', () => URL.revokeObjectURL(address), { once: true });
  img.src = address;
  await img.decode().catch(() => {});
}
