// Status messages at the foot of the page, also for screen readers.

const place = document.getElementById('said');
let fading;

export function say(text, kind = '') {
  place.className = `said ${kind} shown`;
  // Announce a repeated message again.
  place.textContent = '';
  requestAnimationFrame(() => { place.textContent = text; });
  clearTimeout(fading);
  fading = setTimeout(() => place.classList.remove('shown'), 6000);
}

export const complain = (e) => say(e.hint ? `${e.message}. ${e.hint}` : e.message, 'bad');
