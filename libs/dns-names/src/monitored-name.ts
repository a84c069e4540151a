import { readName, reasonNotPublic } from './dns-name';
import { quoteInput } from './quote-input';

/** `name`: the normal form, also of a name that is not public, because the list of public suffixes changes. */
export type ParsedMonitoredName =
  | { readonly ok: true; readonly name: string }
  | { readonly ok: false; readonly code: 'invalid_dns_name'; readonly message: string }
  | {
      readonly ok: false;
      readonly code: 'not_public_domain';
      readonly message: string;
      readonly name: string;
    };

/**
 * Reads the name of a monitored domain: a leading dot means the domain and its whole sub-domain tree, a bare name only
 * itself. The normal form has lower-case A-labels, keeps the leading dot and has none at the end.
 */
export function parseMonitoredName(input: unknown): ParsedMonitoredName {
  const isTree = typeof input === 'string' && input.startsWith('.');
  if (typeof input === 'string' && input.includes('*'))
    return invalid(
      `${quoteInput(input)} is a wildcard: use a leading dot to monitor a domain with its sub-domains.`,
    );
  const read = readName(isTree ? input.slice(1) : input, { allowsUnderscores: true });
  if (!read.ok) return invalid(`${quoteInput(input)} is not a valid DNS name: ${read.reason}.`);
  const name = isTree ? `.${read.name}` : read.name;
  const reason = reasonNotPublic(read);
  if (reason === undefined) return { ok: true, name };
  const message = `${quoteInput(input)} cannot be monitored: ${reason}.`;
  return { ok: false, code: 'not_public_domain', message, name };
}

const invalid = (message: string) => ({ ok: false, code: 'invalid_dns_name', message }) as const;

/**
 * The most specific entry that matches a name: the exact name before the dotted sub-domain before the dotted parent.
 * Undefined when none matches. Entries and name are in normal form.
 */
export function mostSpecificMatch<Entry extends { readonly name: string }>(
  entries: Iterable<Entry>,
  name: string,
): Entry | undefined {
  let best: Entry | undefined;
  for (const entry of entries) {
    if (entry.name === name) return entry;
    if (coversTree(entry.name, name) && entry.name.length > (best?.name.length ?? 0)) best = entry;
  }
  return best;
}

function coversTree(entryName: string, name: string): boolean {
  return entryName.startsWith('.') && (name.endsWith(entryName) || entryName.slice(1) === name);
}
