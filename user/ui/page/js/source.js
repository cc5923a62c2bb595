// Sources of photos for the grid: ordered lists of which only parts are loaded.

import { get, post } from './session.js';

const part = 200; // entries per request

// A Source is a listing at the program. Its order stays the same until it is opened
// again.
export class Source {
  #parts = new Map(); // promises by number
  #entries = new Map(); // by position
  #at = new Map(); // positions by id

  // route names the request that lists the photos.
  constructor(filter, route = 'list') {
    this.filter = filter;
    this.route = route;
    this.total = 0;
  }

  // open lists the photos. With an id, at becomes its position, or -1. If the program
  // cannot list them, the list stays unchanged, and wrong holds the reason.
  async open(id = '') {
    const { rows, wrong = '', ...rest } = await post(this.route, id ? { ...this.filter, at: id } : this.filter);
    Object.assign(this, { wrong, hint: rest.hint });
    if (wrong) return this;
    Object.assign(this, rest);
    this.#parts.clear();
    this.#entries.clear();
    this.#at.clear();
    this.#take(0, rows);
    if (id && this.at >= 0) this.#at.set(id, this.at);
    return this;
  }

  #take(from, rows) {
    rows.forEach((row, i) => {
      this.#entries.set(from + i, row);
      this.#at.set(row.id, from + i);
    });
  }

  // load makes the entries of positions available.
  async load(from, to) {
    const wanted = [];
    for (let n = Math.floor(Math.max(0, from) / part); n * part < Math.min(to, this.total); n++) {
      const first = Math.max(from, n * part);
      if (this.#entries.has(first) && this.#entries.has(Math.min(to, this.total, (n + 1) * part) - 1)) continue;
      if (!this.#parts.has(n)) this.#parts.set(n, this.#fetch(n));
      wanted.push(this.#parts.get(n));
    }
    await Promise.all(wanted);
  }

  async #fetch(n) {
    const { listing } = this;
    try {
      const rows = await get(`list/${listing}?from=${n * part}`);
      if (listing === this.listing) this.#take(n * part, rows.slice(0, part));
    } finally {
      this.#parts.delete(n);
    }
  }

  // renew drops the loaded entries after marks have changed.
  renew() {
    this.#parts.clear();
    this.#entries.clear();
  }

  get(i) { return this.#entries.get(i); }
  indexOf(id) { return this.#at.get(id) ?? -1; }
}

// A Fixed source holds known photos.
export class Fixed {
  #at;
  constructor(ids) {
    this.ids = ids;
    this.total = ids.length;
    this.#at = new Map(ids.map((id, i) => [id, i]));
  }

  async load() {}
  renew() {}
  get(i) { return i in this.ids ? { id: this.ids[i], name: '' } : undefined; }
  indexOf(id) { return this.#at.get(id) ?? -1; }
}
