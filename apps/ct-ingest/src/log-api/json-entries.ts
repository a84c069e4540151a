import { KnownChains, readLeafJson, readLeafText, type TextSpan } from '@certwright/ct';
import { CompactJson } from './compact-json';
import { fetchedEntry, oddEntry } from './fetched-entry';
import type { FetchedEntry } from './log-api';
import { LogUnavailable } from './log-faults';

/**
 * The entries of a `get-entries` answer (RFC 6962, section 4.6).
 *
 * @param most that were asked for: what comes behind them is not read
 * @param chains of answers before
 * @throws LogUnavailable when it is none
 */
export function readJsonEntries(body: Buffer, most: number, chains = new KnownChains()): FetchedEntry[] {
  return readAsUsual(body, most, chains) ?? readAnyJson(body, most);
}

/** Values of an entry, and those beside the entries, in JSON of any form. More are not worth their memory, up to forty times that of the text. */
const mostValues = { ofEntry: 16, beside: 1_024 } as const;

/** How nearly all logs write an answer, piece by piece around the base64. */
const pieces = {
  begin: Buffer.from('{"entries":['),
  leafInput: Buffer.from('{"leaf_input":"'),
  extraData: Buffer.from(',"extra_data":"'),
  end: Buffer.from('}'),
  comma: Buffer.from(','),
  last: Buffer.from(']}'),
  lineEnd: Buffer.from('\n'),
} as const;

const [comma, brace, bracket] = [',', '{', '['];

/** Null: it is written in another way. */
function readAsUsual(body: Buffer, most: number, chains: KnownChains): FetchedEntry[] | null {
  const json = new CompactJson(body);
  const entries: FetchedEntry[] = [];
  let goesOn: boolean;
  json.expect(pieces.begin);
  do {
    json.expect(pieces.leafInput);
    const leafInput = json.textBeforeQuote();
    json.expect(pieces.extraData);
    const extraData = json.textBeforeQuote();
    json.expect(pieces.end);
    if (json.failed) return null;
    const entry = readLeafText(body, leafInput, extraData, chains);
    const fetched = entry === null ? readTexts(body, leafInput, extraData) : fetchedEntry(entry);
    if (fetched === null) return null;
    entries.push(fetched);
    goesOn = json.skip(pieces.comma);
  } while (goesOn && entries.length < most);
  if (goesOn) return entries;
  json.expect(pieces.last);
  json.skip(pieces.lineEnd);
  return json.failed || !json.isAtEnd ? null : entries;
}

/** What cannot be read otherwise. Null: escapes make other texts of these. */
function readTexts(body: Buffer, leafInput: TextSpan, extraData: TextSpan): FetchedEntry | null {
  const [leaf_input, extra_data] = [leafInput, extraData].map(({ start, end }) =>
    body.toString('latin1', start, end),
  );
  if (leaf_input?.includes('\\') === true || extra_data?.includes('\\') === true) return null;
  return readJsonEntry({ leaf_input, extra_data });
}

function readAnyJson(body: Buffer, most: number): FetchedEntry[] {
  if (hasMoreValuesThan(mostValues.ofEntry * most + mostValues.beside, body))
    throw new LogUnavailable('The log answered get-entries with far more than was asked for.');
  const entries = membersOf(parseJson(body))['entries'];
  if (!Array.isArray(entries) || entries.length === 0)
    throw new LogUnavailable('The log answered get-entries without entries.');
  return entries.slice(0, most).map(readJsonEntry);
}

/** The JSON may have more values than that: each is behind one of these. */
function hasMoreValuesThan(most: number, body: Buffer): boolean {
  let values = 0;
  for (const octet of [comma, brace, bracket])
    for (let at = body.indexOf(octet); at >= 0 && values <= most; at = body.indexOf(octet, at + 1))
      values += 1;
  return values > most;
}

function readJsonEntry(json: unknown): FetchedEntry {
  const reading = readLeafJson(json);
  return reading.ok ? fetchedEntry(reading.entry) : oddEntry(leafOf(json), reading.fault);
}

/** What the tree holds of an entry that cannot be read. Base64 is taken as it comes: a wrong octet shows in the root. */
function leafOf(json: unknown): Buffer {
  const leaf = membersOf(json)['leaf_input'];
  if (typeof leaf !== 'string')
    throw new LogUnavailable('The log answered get-entries with an entry without a leaf.');
  return Buffer.from(leaf, 'base64');
}

/** @throws LogUnavailable */
export function parseJson(body: Buffer): unknown {
  try {
    // JSON of a log is ASCII; as Latin-1 it takes an octet a character.
    return JSON.parse(body.toString('latin1'));
  } catch {
    throw new LogUnavailable('The log answered something that is not JSON.');
  }
}

export function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
