import { isIP } from 'node:net';
import path from 'node:path';

/** Readers of single values. Each throws a RangeError that says what is wrong and what to do. */

const quoted = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);

/** `30s`, `5m`. @returns ms, 1 s to 1 h */
export function readDuration(text: string): number {
  const [, digits = '', unit = ''] = /^([1-9]\d{0,3})(s|m)$/.exec(text) ?? [];
  const ms = Number(digits) * (unit === 'm' ? 60_000 : 1000);
  if (digits === '' || ms > 3_600_000)
    throw new RangeError(`${quoted(text)} is not a duration from 1s to 60m; write it as "30s" or "5m"`);
  return ms;
}

/** Minutes since midnight, local time. The end is not part of it; an end before the start is on the next day. */
export interface Window {
  readonly startMinute: number;
  readonly endMinute: number;
}

export function readWindow(text: string): Window {
  const match = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$/.exec(text);
  const [startHour = 0, startMinute = 0, endHour = 0, endMinute = 0] = (match ?? []).slice(1).map(Number);
  const window = { startMinute: startHour * 60 + startMinute, endMinute: endHour * 60 + endMinute };
  if (match === null || window.startMinute === window.endMinute)
    throw new RangeError(`${quoted(text)} is not a time window; write it as "02:00-05:00", in local time`);
  return window;
}

export function isWithin({ startMinute, endMinute }: Window, time: Date): boolean {
  const minute = time.getHours() * 60 + time.getMinutes();
  return startMinute < endMinute
    ? minute >= startMinute && minute < endMinute
    : minute >= startMinute || minute < endMinute;
}

/** Permissions of a private key: nothing for all users, no write for the group, no execution. */
export function readMode(text: string): number {
  if (!/^0[0-7]{3}$/.test(text))
    throw new RangeError(`${quoted(text)} is not a mode; write four octal digits in quotes, such as "0640"`);
  const mode = Number.parseInt(text, 8);
  if ((mode & 0o400) === 0 || (mode & ~0o640) !== 0)
    throw new RangeError(
      `${text} lets others than the owner write, or users outside the group read a private key; use "0600", "0640" or "0400"`,
    );
  return mode;
}

/** An absolute path in its normal form, so that two spellings of one file are not two points. */
export function readPath(text: string): string {
  if (
    !path.isAbsolute(text) ||
    path.normalize(text) !== text ||
    text.endsWith('/') ||
    /[\0-\x1f\x7f]/.test(text)
  )
    throw new RangeError(
      `${quoted(text)} is not an absolute path without "..", "//" and a final "/"; write the full path of the file`,
    );
  return text;
}

/** Without user and password: a part of them may be everything before the last `@`. */
const withoutUser = (text: string): string => quoted(text.replace(/^.*@/su, '…@'));

export function readServer(text: string): URL {
  const url = urlOf(text);
  const isPlain = url?.protocol === 'http:' && isLoopback(url.hostname);
  if (url === null || !(url.protocol === 'https:' || isPlain))
    throw new RangeError(
      `${withoutUser(text)} is not an https:// address; write it as "https://certs.example.net"`,
    );
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || url.username !== '')
    throw new RangeError(
      `${withoutUser(text)} has more than a host and a port; write only those, such as "https://certs.example.net"`,
    );
  return url;
}

export function readProxy(text: string): URL {
  const url = urlOf(text);
  if (url?.protocol !== 'http:' || url.pathname !== '/' || url.search !== '' || url.hash !== '')
    throw new RangeError(
      `${withoutUser(text)} is not an address of a proxy; write it as "http://proxy.example.net:3128"`,
    );
  if (!isDecodable(url.username) || !isDecodable(url.password))
    throw new RangeError(
      `${withoutUser(text)} has a user or password with "%"; write this character as "%25"`,
    );
  return url;
}

const urlOf = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null);

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Plain HTTP is for servers on the same machine, as in the sandbox. */
const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'));

/** A name that this host accepts in certificates: exact, or every name below a parent. */
export type NamePattern =
  { readonly kind: 'exact'; readonly name: string } | { readonly kind: 'below'; readonly parent: string };

const namePattern =
  /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export function readNamePattern(text: string): NamePattern {
  const parent = text.startsWith('*.') ? text.slice(2) : null;
  const name = (parent ?? text).toLowerCase();
  if (!namePattern.test(name))
    throw new RangeError(
      `${quoted(text)} is not a DNS name; write "www.example.com", or "*.example.com" for every name below example.com, in ASCII (xn--…)`,
    );
  return parent === null ? { kind: 'exact', name } : { kind: 'below', parent: name };
}

/** @param name of a certificate; may be a wildcard, which is a name below its parent */
export function isAccepted(patterns: readonly NamePattern[], name: string): boolean {
  const normal = name.toLowerCase();
  return patterns.some((pattern) =>
    pattern.kind === 'exact' ? pattern.name === normal : normal.endsWith(`.${pattern.parent}`),
  );
}

/** `host:port`, IPv6 in brackets. */
export function readAddress(text: string): string {
  const [, v6, host = '', port] = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/.exec(text) ?? [];
  const isHost = v6 === undefined ? host !== '' : isIP(v6) === 6;
  if (!isHost || Number(port) < 1 || Number(port) > 65_535)
    throw new RangeError(
      `${quoted(text)} is not an address with a port; write it as "127.0.0.1:443" or "[::1]:443"`,
    );
  return text;
}

export function readServerName(text: string): string {
  if (isIP(text) === 0 && !namePattern.test(text.toLowerCase()))
    throw new RangeError(
      `${quoted(text)} is not a host name; write the name that visitors use, without "*."`,
    );
  return text.toLowerCase();
}

/** @returns a reader of one of a few words */
export const oneOf =
  <T extends string>(...words: readonly T[]) =>
  (text: string): T => {
    const found = words.find((word) => word === text);
    if (found !== undefined) return found;
    throw new RangeError(`${quoted(text)} is not one of ${words.map((word) => `"${word}"`).join(', ')}`);
  };
