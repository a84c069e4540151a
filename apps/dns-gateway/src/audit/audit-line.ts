import { createHash } from 'node:crypto';
import type { ChainHead, EntryContent, TornBytes } from './audit-entry';

/** One entry as read from a file. */
export interface AuditLine extends ChainHead {
  /** RFC 3339, UTC, milliseconds. */
  readonly time: string;
  /** Hash of the preceding entry. */
  readonly previous: string;
  readonly content: EntryContent;
}

export type ReadLine =
  | { readonly ok: true; readonly line: AuditLine }
  /** `whole`: it ends as a complete line does, so it is not the result of a crash. */
  | { readonly ok: false; readonly whole: boolean; readonly reason: string };

const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');

/** Members of each kind, in the order in which they are written. */
const members = {
  opened: ['instance', 'format', 'torn'],
  intent: [
    ...['requestId', 'client', 'account', 'integrationId', 'provider', 'action', 'zone', 'fqdn', 'type'],
    ...['value', 'ttlS', 'decision', 'reason'],
  ],
  outcome: ['intent', 'result', 'problem'],
  'handle-refused': [
    ...['requestId', 'client', 'account', 'integrationId', 'provider', 'handle', 'code', 'unrecorded'],
  ],
} as const satisfies Record<EntryContent['kind'], readonly string[]>;

const wholeLine = /^(\{"sequence":.*),"hash":"([0-9a-f]{64})"\}$/;
/** Quotes within strings are escaped, so a line that is cut off never ends like this. */
const lineEnd = /,"hash":"[0-9a-f]{64}"\}$/;
const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** The next line of a chain, with its newline. */
export function writeLine(
  before: ChainHead,
  time: Date,
  content: EntryContent,
): { readonly head: ChainHead; readonly bytes: Buffer } {
  const sequence = before.sequence + 1;
  const body = canonical({ sequence, time: time.toISOString(), previous: before.hash, ...content });
  const hash = sha256(body);
  return {
    head: { sequence, hash },
    bytes: Buffer.from(`${body.slice(0, -1)},"hash":"${hash}"}\n`, 'ascii'),
  };
}

/**
 * Members in the order of the object, without white space. ASCII only, so that terminals display the line unchanged.
 */
function canonical(entry: object): string {
  return JSON.stringify(entry).replace(
    /[\x7f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Reads one line, without its newline. `ChainCheck` checks whether it follows the preceding line. */
export function readLine(bytes: Buffer): ReadLine {
  const text = bytes.toString('latin1');
  const [, start, hash] = wholeLine.exec(text) ?? [];
  if (start === undefined || hash === undefined)
    return { ok: false, whole: lineEnd.test(text), reason: 'this is no entry' };
  const body = `${start}}`;
  if (sha256(Buffer.from(body, 'latin1')) !== hash) return wrong('the hash is not that of the entry');
  const entry = parsed(body);
  if (entry === undefined || canonical(entry) !== body)
    return wrong('the entry is not in its canonical form');
  return readEntry(entry, hash);
}

function parsed(body: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(body) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function readEntry(entry: Record<string, unknown>, hash: string): ReadLine {
  const { sequence, time, previous, ...content } = entry;
  const { kind } = content;
  if (!isKind(kind)) return wrong('its kind is unknown');
  const expected = ['sequence', 'time', 'previous', 'kind', ...members[kind]];
  if (Object.keys(entry).join() !== expected.join()) return wrong('its members are not those of its kind');
  if (!isCount(sequence) || typeof previous !== 'string' || !/^[0-9a-f]{64}$/.test(previous))
    return wrong('its place in the chain is not readable');
  if (typeof time !== 'string' || !rfc3339.test(time)) return wrong('its time is not readable');
  if (kind === 'opened' && !isOpened(content)) return wrong('it does not say which file it opens');
  if (kind === 'outcome' && !isCount(content['intent'])) return wrong('it does not say whose outcome it is');
  const line = { sequence, hash, time, previous, content: content as unknown as EntryContent };
  return { ok: true, line };
}

const isKind = (kind: unknown): kind is EntryContent['kind'] =>
  typeof kind === 'string' && Object.hasOwn(members, kind);

function isOpened({ instance, format, torn }: Record<string, unknown>): boolean {
  return typeof instance === 'string' && format === 1 && Array.isArray(torn) && torn.every(isTornBytes);
}

function isTornBytes(value: unknown): value is TornBytes {
  const { bytes, sha256: digest } = (value ?? {}) as Partial<TornBytes>;
  return isCount(bytes) && typeof digest === 'string';
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}

function wrong(reason: string): ReadLine {
  return { ok: false, whole: true, reason };
}

export function tornBytes(bytes: Buffer): TornBytes {
  return { bytes: bytes.length, sha256: sha256(bytes) };
}
