// Zoom and movement of an image: wheel, drag, double click, pinch and buttons.

const most = 12; // largest magnification of an image that fits the window

export class Zoom {
  #stage; #img = null; #step;
  #scale = 1; #x = 0; #y = 0;
  #pointers = new Map();
  #moved = 0;

  // step is called with -1 or 1 when the user swipes an image that fits.
  constructor(stage, { step }) {
    this.#stage = stage;
    this.#step = step;
    stage.addEventListener('wheel', (e) => { e.preventDefault(); this.by(Math.exp(-e.deltaY / 400), e); }, { passive: false });
    stage.addEventListener('dblclick', (e) => { if (this.#scale > 1) this.fit(); else this.by(3, e); });
    stage.addEventListener('pointerdown', (e) => {
      if (e.button !== 0) return;
      if (!this.#pointers.size) this.#moved = 0;
      stage.setPointerCapture(e.pointerId);
      this.#pointers.set(e.pointerId, e);
    });
    stage.addEventListener('pointermove', (e) => this.#move(e));
    const end = (e) => {
      const swiped = this.#pointers.size === 1 && this.#scale === 1 && e.pointerType === 'touch' && Math.abs(this.#moved) > 60;
      this.#pointers.delete(e.pointerId);
      if (swiped) this.#step(this.#moved < 0 ? 1 : -1);
    };
    stage.addEventListener('pointerup', end);
    stage.addEventListener('pointercancel', (e) => this.#pointers.delete(e.pointerId));
  }

  #move(e) {
    const last = this.#pointers.get(e.pointerId);
    if (!last) return;
    if (this.#pointers.size === 2) {
      const [other] = [...this.#pointers.values()].filter((p) => p.pointerId !== e.pointerId);
      const far = (p) => Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY);
      this.by(far(e) / Math.max(1, far(last)), { clientX: (e.clientX + other.clientX) / 2, clientY: (e.clientY + other.clientY) / 2 });
    } else if (this.#scale > 1) {
      this.#x += e.clientX - last.clientX;
      this.#y += e.clientY - last.clientY;
      this.#draw();
    } else this.#moved += e.clientX - last.clientX;
    this.#pointers.set(e.pointerId, e);
  }

  // show replaces the image and fits it to the window.
  show(img) {
    this.#img = img;
    this.fit();
  }

  // swap replaces the image by a sharper one of the same photo.
  swap(img) {
    this.#img.replaceWith(img);
    this.#img = img;
    this.#draw();
  }

  fit() {
    [this.#scale, this.#x, this.#y] = [1, 0, 0];
    this.#draw();
  }

  // by magnifies around a point, or around the middle.
  by(factor, point = null) {
    const r = this.#stage.getBoundingClientRect();
    const [x, y] = point ? [point.clientX - r.left - r.width / 2, point.clientY - r.top - r.height / 2] : [0, 0];
    const next = Math.min(most, Math.max(1, this.#scale * factor));
    const by = next / this.#scale;
    this.#x = x - (x - this.#x) * by;
    this.#y = y - (y - this.#y) * by;
    this.#scale = next;
    this.#draw();
  }

  #draw() {
    if (!this.#img) return;
    const [w, h] = [this.#stage.clientWidth * (this.#scale - 1) / 2, this.#stage.clientHeight * (this.#scale - 1) / 2];
    this.#x = Math.min(w, Math.max(-w, this.#x));
    this.#y = Math.min(h, Math.max(-h, this.#y));
    this.#img.style.transform = `translate(${this.#x}px, ${this.#y}px) scale(${this.#scale})`;
    this.#stage.classList.toggle('larger', this.#scale > 1);
  }
}
