import { createHash } from 'node:crypto';
import { readCsv } from './csv';

/** Which text the registry was loaded from. */
export interface RegistryVersion {
  /** Lines of the registry; a node name has one for each type of record. */
  readonly entries: number;
  /** The end of the newest `source_date` (`2026-04-23`); null in a file without that column, such as IANA's own. */
  readonly newestSourceDate: string | null;
  /** SHA-256 over the UTF-8 octets of the text, hex. */
  readonly sha256: string;
}

/** IANA's registry "Underscored and Globally Scoped DNS Node Names" (RFC 8552, section 4.1). */
export interface UnderscoredNames {
  readonly version: RegistryVersion;
  /** Whether the registry knows the label, for whatever type of record. Takes one label in lower case. */
  has(label: string): boolean;
}

/** Of RFC 8552 and 8553 and the mail RFCs: a registry without them is cut off or another file, and would allow too much. */
const neverMissing = ['_acme-challenge', '_dmarc', '_domainkey', '_mta-sts', '_spf', '_tcp', '_udp'] as const;

const nodeName = /^_[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:-\*)?$/;
/** `2019-06-27`, `2026`, `2024 (RFC 9615)`, `2024-05-09..2026-04-23`. */
const sourceDate = /^(?:\d{4}(?:-\d\d-\d\d)?\.\.)?(\d{4}(?:-\d\d-\d\d)?)(?: \([^()]*\))?$/;

/**
 * Reads the registry from CSV: a header that names at least `node_name` and `rr_type` (in the spelling of IANA's file
 * too), and one line per entry. `_ta-*` stands for every label that starts with `_ta-`.
 *
 * @throws Error that names the line, when anything in it is not as expected
 */
export function loadUnderscoredNames(csvText: string): UnderscoredNames {
  const [header = [], ...records] = readCsv(csvText.replace(/^\uFEFF/, ''));
  const columns = header.map((title) =>
    title
      .toLowerCase()
      .replace(/[^a-z]+/g, '_')
      .replace(/^_|_$/g, ''),
  );
  const column = { name: columns.indexOf('node_name'), date: columns.indexOf('source_date') };
  if (column.name === -1 || !columns.includes('rr_type'))
    throw new Error('The first line names no columns node_name and rr_type.');
  const names = new Set<string>();
  const dates: string[] = [];
  records.forEach((fields, index) => {
    const entry = `Entry ${index + 1}`;
    if (fields.length !== columns.length)
      throw new Error(`${entry} has ${fields.length} fields in place of ${columns.length}.`);
    names.add(readNodeName(fields[column.name] ?? '', entry));
    if (column.date !== -1) dates.push(readSourceDate(fields[column.date] ?? '', entry));
  });
  const missing = neverMissing.filter((name) => !names.has(name));
  if (missing.length > 0) throw new Error(`The registry is not whole: it has no ${missing.join(', ')}.`);
  return new LoadedNames(names, {
    entries: records.length,
    newestSourceDate: dates.sort().at(-1) ?? null,
    sha256: createHash('sha256').update(csvText).digest('hex'),
  });
}

function readNodeName(text: string, entry: string): string {
  const name = text.trim().toLowerCase();
  if (!nodeName.test(name) || name.length > 63)
    throw new Error(`${entry}: node_name is not an underscored label.`);
  return name;
}

function readSourceDate(text: string, entry: string): string {
  const newest = sourceDate.exec(text)?.[1];
  if (newest === undefined) throw new Error(`${entry}: source_date is not a date.`);
  return newest;
}

class LoadedNames implements UnderscoredNames {
  private readonly whole: ReadonlySet<string>;
  private readonly prefixes: readonly string[];

  constructor(
    names: ReadonlySet<string>,
    readonly version: RegistryVersion,
  ) {
    this.whole = names;
    this.prefixes = [...names].filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  }

  has(label: string): boolean {
    return this.whole.has(label) || this.prefixes.some((prefix) => label.startsWith(prefix));
  }
}
