import { readLeafJson } from '@certwright/ct';
import { fetchedEntry, oddEntry } from './fetched-entry';
import type { FetchedEntry } from './log-api';
import { LogUnavailable } from './log-faults';

/** The entries of a `get-entries` answer (RFC 6962, section 4.6). @throws LogUnavailable when it is none */
export function readJsonEntries(body: Buffer): FetchedEntry[] {
  const entries = membersOf(parseJson(body))['entries'];
  if (!Array.isArray(entries) || entries.length === 0)
    throw new LogUnavailable('The log answered get-entries without entries.');
  return entries.map((json) => {
    const reading = readLeafJson(json);
    return reading.ok ? fetchedEntry(reading.entry) : oddEntry(leafOf(json), reading.fault);
  });
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
