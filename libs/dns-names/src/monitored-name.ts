import { type ParsedDnsName, parsePublicName } from './dns-name';
import { quoteInput } from './quote-input';

/**
 * Reads the name of a monitored domain: a leading dot means the domain and its whole sub-domain tree, a bare name only
 * itself. The normal form keeps the dot.
 */
export function parseMonitoredName(input: unknown): ParsedDnsName {
  const tree = typeof input === 'string' && input.startsWith('.');
  const parsed = parsePublicName(tree ? input.slice(1) : input);
  if (!parsed.ok) return parsed;
  if (parsed.name.startsWith('*.')) {
    return {
      ok: false,
      code: 'invalid_dns_name',
      message: `${quoteInput(input)} is a wildcard: use a leading dot to monitor a domain with its sub-domains.`,
    };
  }
  return { ok: true, name: tree ? `.${parsed.name}` : parsed.name };
}

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
