// The places of cards in a grid: rows of equal height, in which each section of a
// timeline begins a row of its own below a heading.

export class Layout {
  // sections are the numbers of cards of the sections in their order.
  constructor(sections, columns, height, head) {
    Object.assign(this, { columns, row: height, head });
    this.parts = [];
    let from = 0, row = 0, top = 0;
    for (const count of sections) {
      const rows = Math.ceil(count / columns);
      this.parts.push({ from, count, row, rows, top });
      from += count;
      row += rows;
      top += head + rows * height;
    }
    this.total = from;
    this.rows = row;
    this.height = top;
  }

  // #last returns the last section whose field is at most a value.
  #last(field, value) {
    let low = 0, high = this.parts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.parts[middle][field] <= value) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  section(i) { return this.#last('from', i); }

  // sectionAt returns the section at a height, and how far into it the height is.
  sectionAt(y) {
    const n = this.#last('top', y);
    const part = this.parts[n];
    return { n, part, share: part ? Math.min(1, Math.max(0, (y - part.top) / (this.head + part.rows * this.row))) : 0 };
  }

  // place returns the column of a card and the top of its row.
  place(i) {
    const part = this.parts[this.section(i)];
    const at = i - part.from;
    return { column: at % this.columns, top: part.top + this.head + Math.floor(at / this.columns) * this.row };
  }

  // rowAt returns the number of the row at a height.
  #rowAt(y) {
    const { part } = this.sectionAt(y);
    return part.row + Math.min(part.rows - 1, Math.max(0, Math.floor((y - part.top - this.head) / this.row)));
  }

  // #span returns the first card of a row and the one after its last.
  #span(row) {
    const part = this.parts[this.#last('row', row)];
    const from = part.from + (row - part.row) * this.columns;
    return [from, Math.min(from + this.columns, part.from + part.count)];
  }

  // range returns the cards between two heights: the first, and the one after the last.
  range(top, bottom) {
    if (!this.rows) return [0, 0];
    return [this.#span(this.#rowAt(top))[0], this.#span(this.#rowAt(bottom))[1]];
  }

  // vertical returns the card `rows` below a card, or above if negative.
  vertical(i, rows) {
    const part = this.parts[this.section(i)];
    const row = part.row + Math.floor((i - part.from) / this.columns) + rows;
    if (row < 0) return 0;
    if (row >= this.rows) return this.total - 1;
    const [from, to] = this.#span(row);
    return Math.min(from + this.place(i).column, to - 1);
  }

  // within returns the cards between two heights and two columns.
  within(top, bottom, first, last) {
    const found = [];
    if (!this.rows) return found;
    for (let row = this.#rowAt(top); row <= this.#rowAt(bottom); row++) {
      const [from, to] = this.#span(row);
      for (let i = from + Math.max(0, first); i < Math.min(to, from + last + 1); i++) found.push(i);
    }
    return found;
  }
}
