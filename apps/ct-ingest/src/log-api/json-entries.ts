import { KnownChains, readLeafJson, readLeafText, type TextSpan } from '@certwright/ct';
import { CompactJson } from './compact-json';
import { fetchedEntry, oddEntry } from './fetched-entry';
import type { FetchedEntry } from './log-api';
import { LogUnavailable } from './log-faults';

/**
 * The entries of a `get-entries` answer (RFC 6962, section 4.6).
 *
 * @param chains of answers before @throws LogUnavailable when it is none
 */
export function readJsonEntries(body: Buffer, chains = new KnownChains()): FetchedEntry[] {
  return readAsUsual(body, chains) ?? readAnyJson(body);
}

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

/** Null: it is written in another way. */
function readAsUsual(body: Buffer, chains: KnownChains): FetchedEntry[] | null {
  const json = new CompactJson(body);
  const entries: FetchedEntry[] = [];
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
  } while (json.skip(pieces.comma));
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

function readAnyJson(body: Buffer): FetchedEntry[] {
  const entries = membersOf(parseJson(body))['entries'];
  if (!Array.isArray(entries) || entries.length === 0)
    throw new LogUnavailable('The log answered get-entries without entries.');
  return entries.map(readJsonEntry);
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
