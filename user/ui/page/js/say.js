// What has happened, for the eye at the foot of the page and for a screen reader.

const place = document.getElementById('said');
let fading;

export function say(text, kind = '') {
  place.className = `said ${kind} shown`;
  // The same words twice in a row are news, too.
  place.textContent = '';
  requestAnimationFrame(() => { place.textContent = text; });
  clearTimeout(fading);
  fading = setTimeout(() => place.classList.remove('shown'), 6000);
}

export const complain = (e) => say(e.hint ? `${e.message}. ${e.hint}` : e.message, 'bad');
