import { parseDnsName } from '@certwright/dns-names';

/**
 * RFC 1035, section 2.3.4: bytes of a label; 255 bytes of a name on the wire are 253 characters without the last
 * dot.
 */
const maxLabelBytes = 63;
const maxNameBytes = 253;

export type ReadName =
  | { readonly ok: true; readonly name: string }
  /** `reason` continues "the name …". */
  | { readonly ok: false; readonly reason: string };

/**
 * Reads the name of a record, a zone or a target into the normal form used by every later comparison: lower case, no
 * trailing dot. Nothing is mapped: a name that a resolver, a provider and this gateway could read differently (an
 * escape, a fullwidth letter, an ideographic full stop) is refused. Labels have letters, digits and hyphens, and may
 * start with one underscore.
 */
export function readRecordName(input: string): ReadName {
  if (/[^\x20-\x7e]/.test(input)) {
    return no(
      'has characters outside printable ASCII; write an internationalized label as its A-label (xn--…)',
    );
  }
  if (input.includes('\\')) return no('has a backslash; no escapes are read');
  const relative = (input.endsWith('.') ? input.slice(0, -1) : input).toLowerCase();
  if (relative === '') return no('is empty');
  if (relative.length > maxNameBytes) return no(`is longer than ${maxNameBytes} bytes`);
  for (const label of relative.split('.')) {
    const reason = faultOf(label);
    if (reason !== undefined) return no(reason);
  }
  return { ok: true, name: relative };
}

function faultOf(label: string): string | undefined {
  if (label === '') return 'has an empty label';
  if (label.includes('*')) return 'has an asterisk; the gateway does not write wildcard records';
  if (label.length > maxLabelBytes) return `has a label longer than ${maxLabelBytes} bytes`;
  if (!/^_?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(label)) {
    return 'has a label that is not letters, digits and hyphens after at most one leading underscore';
  }
  // Software displays an A-label that no U-label encodes to inconsistently. Any registered domain would do.
  if (label.startsWith('xn--') && !parseDnsName(`${label}.example.com`).ok) {
    return 'has a label that starts with "xn--" and is not a valid A-label';
  }
  return undefined;
}

function no(reason: string): ReadName {
  return { ok: false, reason };
}

/** Whether a name is below another one, at a label boundary. Takes names in normal form. */
export function isBelow(name: string, ancestor: string): boolean {
  return name.endsWith(`.${ancestor}`);
}

/** The labels with a leading underscore, leftmost first. Takes a name in normal form. */
export function underscoredLabels(name: string): readonly string[] {
  return name.split('.').filter((label) => label.startsWith('_'));
}

/** Takes a name in normal form. */
export function firstLabel(name: string): string {
  return name.split('.', 1)[0] ?? '';
}
