import { createHash } from 'node:crypto';
import { readCsv } from './csv';

/** Version of the loaded registry. */
export interface RegistryVersion {
  /** Number of entries; a node name has one for each record type. */
  readonly entries: number;
  /** The end of the newest `source_date` (`2026-04-23`); null in a file without that column, such as IANA's own. */
  readonly newestSourceDate: string | null;
  /** SHA-256 over the UTF-8 bytes of the text, hex. */
  readonly sha256: string;
}

/** IANA's registry "Underscored and Globally Scoped DNS Node Names" (RFC 8552, section 4.1). */
export interface UnderscoredNames {
  readonly version: RegistryVersion;
  /** Whether the registry contains the label, for any record type. Takes one label in lower case. */
  has(label: string): boolean;
}

/**
 * From RFC 8552, RFC 8553 and the mail RFCs. A registry without them is truncated or another file, and would allow
 * too much.
 */
const neverMissing = ['_acme-challenge', '_dmarc', '_domainkey', '_mta-sts', '_spf', '_tcp', '_udp'] as const;

const nodeName = /^_[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:-\*)?$/;
/** `2019-06-27`, `2026`, `2024 (RFC 9615)`, `2024-05-09..2026-04-23`. */
const sourceDate = /^(?:\d{4}(?:-\d\d-\d\d)?\.\.)?(\d{4}(?:-\d\d-\d\d)?)(?: \([^()]*\))?$/;

/**
 * Reads the registry from CSV: a header with at least `node_name` and `rr_type` (IANA's spelling is accepted too),
 * and one line per entry. `_ta-*` matches every label that starts with `_ta-`.
 *
 * @throws Error that names the line when anything in it is unexpected
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
