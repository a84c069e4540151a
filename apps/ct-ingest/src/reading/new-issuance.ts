import { setImmediate } from 'node:timers/promises';
import { indexKeys, type Issued, oddKeys, type LogEntry } from '@certwright/ct';
import { type NewIssuance, type NewIssuer, noEnd, packBody } from '@certwright/ct-index';
import { sha256Hex } from '@certwright/pki';

const nothing = Buffer.alloc(0);

/** PostgreSQL has no year 0. */
const firstMs = Date.parse('0001-01-01T00:00:00Z');

/** Names whose keys are computed at once: some milliseconds. Public CAs issue for at most 2,000 names, nearly always at most 100. */
const maxNamesAtOnce = 256;

/**
 * Converts an entry to its index row, with the body not yet packed. The row has no view of the response. Returns a promise
 * for a certificate with very many names, to yield to other work.
 */
export function newIssuance(
  entry: LogEntry,
  issued: Issued,
  tbsSha256: string,
  issuer: NewIssuer,
): NewIssuance | Promise<NewIssuance> {
  const { dnsNames, oddNames } = issued;
  if (dnsNames.length <= maxNamesAtOnce)
    return issuanceOf(
      entry,
      issued,
      tbsSha256,
      issuer,
      withOdd(indexKeys(dnsNames), oddKeys(dnsNames, oddNames)),
    );
  return keysOfMany(dnsNames, oddNames).then((nameKeys) =>
    issuanceOf(entry, issued, tbsSha256, issuer, nameKeys),
  );
}

function withOdd(keys: readonly string[], odd: readonly string[]): readonly string[] {
  return odd.length === 0 ? keys : [...keys, ...odd];
}

async function keysOfMany(names: readonly string[], oddNames: readonly string[]): Promise<readonly string[]> {
  const keys = new Set<string>(oddKeys([], oddNames));
  for (let from = 0; from < names.length; from += maxNamesAtOnce) {
    const some = names.slice(from, from + maxNamesAtOnce);
    for (const key of indexKeys(some)) keys.add(key);
    for (const key of oddKeys(some, [])) keys.add(key);
    await setImmediate();
  }
  return [...keys];
}

function issuanceOf(
  entry: LogEntry,
  issued: Issued,
  tbsSha256: string,
  issuer: NewIssuer,
  nameKeys: readonly string[],
): NewIssuance {
  const der = entry.type === 'precertificate' ? entry.precertificateDer : entry.certificateDer;
  return {
    tbsSha256,
    certSha256: sha256Hex(der),
    precertificate: entry.type === 'precertificate',
    spkiSha256: sha256Hex(issued.spkiDer ?? nothing),
    issuer,
    crlUrl: issued.crlUrl,
    serial: serialBytes(issued.serial),
    notBefore: dateOf(issued.notBefore) ?? new Date(0),
    notAfter: dateOf(issued.notAfter) ?? noEnd,
    dnsNames: issued.dnsNames,
    oddNames: issued.oddNames,
    nameKeys,
    body: packBody(der, 'none'),
  };
}

/** Magnitude without leading zeros; a negative number has a leading zero byte, unlike any positive one of two bytes or more. */
function serialBytes(serial: string | null): Buffer {
  if (serial === null) return nothing;
  return Buffer.from(serial.startsWith('-') ? `00${serial.slice(1)}` : serial, 'hex');
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(Math.max(firstMs, ms));
}
