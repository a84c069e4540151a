import type { DerSpan } from './der-cursor';

const [utcTime, generalizedTime] = [0x17, 0x18];

/** Longer than any valid time with nanoseconds and an offset. */
const maxTimeLength = 40;

const [zero, nine, upperZ] = [0x30, 0x39, 0x5a];

export interface ReadTime {
  /** Since the epoch, negative before. */
  readonly ms: number;
  /**
   * Whether its form follows RFC 5280, section 4.1.2.5: seconds, Zulu, and the type for its
   * year.
   */
  readonly asPrescribed: boolean;
}

/**
 * UTCTime or GeneralizedTime, without seconds or minutes, with fractions and offsets as X.680, section 46 and
 * 47, allow them too; without a zone, Zulu is assumed. Null when the text or the
 * day is invalid.
 */
export function readTime(bytes: Buffer, span: DerSpan): ReadTime | null {
  const { start, end, tag } = span;
  if (end - start > maxTimeLength) return null;
  if (end - start === 13 && tag === utcTime && bytes[end - 1] === upperZ) {
    const ms = fixedTime(bytes, start, 2);
    if (ms !== null) return { ms, asPrescribed: true };
  }
  if (end - start === 15 && tag === generalizedTime && bytes[end - 1] === upperZ) {
    const ms = fixedTime(bytes, start, 4);
    if (ms !== null) return { ms, asPrescribed: ms >= lastUtcTime };
  }
  const text = bytes.toString('latin1', start, end);
  const ms = anyTime(text, tag === utcTime);
  if (ms === null) return null;
  return { ms, asPrescribed: tag !== utcTime && /^\d{14}Z$/.test(text) && ms >= lastUtcTime };
}

/** RFC 5280, section 4.1.2.5: UTCTime through 2049, GeneralizedTime from 2050 on. */
const lastUtcTime = Date.UTC(2050, 0, 1);

/** YYMMDDHHMMSS or YYYYMMDDHHMMSS, which nearly all are. */
function fixedTime(bytes: Buffer, start: number, yearDigits: 2 | 4): number | null {
  const monthAt = start + yearDigits;
  for (let i = start; i < monthAt + 10; i++) {
    const byte = bytes[i] ?? 0;
    if (byte < zero || byte > nine) return null;
  }
  const first = twoDigits(bytes, start);
  return timeOf(
    yearDigits === 2 ? fullYear(first) : first * 100 + twoDigits(bytes, start + 2),
    twoDigits(bytes, monthAt),
    twoDigits(bytes, monthAt + 2),
    twoDigits(bytes, monthAt + 4),
    twoDigits(bytes, monthAt + 6),
    twoDigits(bytes, monthAt + 8),
  );
}

function twoDigits(bytes: Buffer, at: number): number {
  return ((bytes[at] ?? 0) - zero) * 10 + ((bytes[at + 1] ?? 0) - zero);
}

/**
 * Digits in pairs; a fraction of the last of them; a zone. A UTCTime with a four-digit year is read as
 * intended.
 */
function anyTime(text: string, twoDigitYear: boolean): number | null {
  const match = /^(\d{10}|\d{12}|\d{14})(?:[.,](\d+))?(?:Z|([+-])(\d\d)(\d\d)?)?$/.exec(text);
  if (match === null) return null;
  const [, digits = '', fraction, sign, offsetHours = '0', offsetMinutes = '0'] = match;
  const yearDigits = twoDigitYear && digits.length < 14 ? 2 : 4;
  const year = Number(digits.slice(0, yearDigits));
  const rest = digits.slice(yearDigits).match(/../g) ?? [];
  const [month = 0, day = 0, hour = 0, minute = 0, second = 0] = rest.map(Number);
  if (rest.length < 3) return null;
  const whole = timeOf(yearDigits === 2 ? fullYear(year) : year, month, day, hour, minute, second);
  if (whole === null || Number(offsetHours) > 23 || Number(offsetMinutes) > 59) return null;
  const unit = rest.length === 3 ? 3_600_000 : rest.length === 4 ? 60_000 : 1000;
  const part = fraction === undefined ? 0 : Math.floor(Number(`0.${fraction}`) * unit);
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000;
  return whole + part + (sign === '-' ? offset : -offset);
}

/** RFC 5280, section 4.1.2.5.1: 50 and above are in the 1900s. */
function fullYear(year: number): number {
  return year >= 50 ? 1900 + year : 2000 + year;
}

const daysBefore = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365];

function timeOf(year: number, month: number, day: number, hour: number, minute: number, second: number) {
  if (month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59) return null;
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 1 : 0;
  const before = daysBefore[month - 1] ?? 0;
  if (day > (daysBefore[month] ?? 0) - before + (month === 2 ? leap : 0)) return null;
  const past = year - 1;
  // Days since 0001-01-01 of the Gregorian calendar, less those up to 1970-01-01.
  const years = past * 365 + Math.floor(past / 4) - Math.floor(past / 100) + Math.floor(past / 400);
  const days = years + before + (month > 2 ? leap : 0) + day - 1 - 719_162;
  return ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000;
}
