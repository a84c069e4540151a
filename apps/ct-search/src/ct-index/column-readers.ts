import { types } from 'pg';

const [timestamptz, textArray] = [1184, 1009];

const usual = (oid: number, text: string): unknown => types.getTypeParser(oid)(text) as unknown;

/** Days that are remembered: certificates begin and end on few. */
const mostDays = 4_096;

const days = new Map<string, number>();

/** @param date `YYYY-MM-DD` */
function startOf(date: string): number {
  let ms = days.get(date);
  if (ms === undefined) {
    ms = Date.parse(`${date}T00:00:00Z`);
    if (days.size >= mostDays) days.clear();
    days.set(date, ms);
  }
  return ms;
}

/** `YYYY-MM-DD hh:mm:ss.ffffff+00`, the fraction where there is one: years 1 to 9999, in UTC as the connection is set to. */
function readTime(text: string): unknown {
  if (text[4] !== '-' || text[10] !== ' ' || !text.endsWith('+00')) return usual(timestamptz, text);
  const seconds = pairAt(text, 11) * 3_600 + pairAt(text, 14) * 60 + pairAt(text, 17);
  const fraction = text[19] === '.' ? Math.floor(Number(text.slice(19, -3)) * 1_000 + 1e-6) : 0;
  return new Date(startOf(text.slice(0, 10)) + seconds * 1_000 + fraction);
}

const zero = '0'.charCodeAt(0);

function pairAt(text: string, at: number): number {
  return (text.charCodeAt(at) - zero) * 10 + text.charCodeAt(at + 1) - zero;
}

/** Texts that are not quoted, as DNS names never are. */
const plainTexts = /^\{[^"\\{}]+\}$/;

function readTexts(text: string): unknown {
  return plainTexts.test(text) && !text.includes('NULL')
    ? text.slice(1, -1).split(',')
    : usual(textArray, text);
}

const readers: ReadonlyMap<number, (text: string) => unknown> = new Map([
  [timestamptz, readTime],
  [textArray, readTexts],
]);

/** The driver's own readers of these take four times as long, and most of the time that reading a page takes. */
export const columnReaders = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    (format === 'binary' ? undefined : readers.get(oid)) ?? types.getTypeParser(oid, format),
};
