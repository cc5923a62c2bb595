// Dates of photos. They are times of the camera's clock, without a time zone.

const format = (options) => {
  const f = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', ...options });
  return (text) => f.format(new Date(`${text}Z`));
};
const monthly = format({ month: 'long', year: 'numeric' });
const daily = format({ day: 'numeric', month: 'long', year: 'numeric' });
const brief = format({ day: 'numeric', month: 'short', year: 'numeric' });
const exact = format({ weekday: 'long', day: 'numeric', month: 'long', year: 'numeric', hour: '2-digit', minute: '2-digit' });

export const undated = 'Without a date';
export const month = (text) => (text ? monthly(`${text}-01T00:00:00`) : undated);
export const day = (time) => (time ? daily(time) : undated);
export const short = (time) => (time ? brief(time) : undated);
export const moment = (time) => (time ? exact(time) : undated);
