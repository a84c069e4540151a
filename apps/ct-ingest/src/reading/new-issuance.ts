import { hash } from 'node:crypto';
import { indexKeys, type Issued, type LogEntry } from '@certwright/ct';
import {
  type BodyPacking,
  type NewIssuance,
  type NewIssuer,
  noEnd,
  packBody,
} from '@certwright/ct-persistence';

const nothing = Buffer.alloc(0);

/** PostgreSQL knows no year 0. */
const firstMs = Date.parse('0001-01-01T00:00:00Z');

/** What the index keeps of an entry. Nothing in it is a view of the answer that it came with. */
export function newIssuance(
  entry: LogEntry,
  issued: Issued,
  tbsSha256: string,
  issuer: NewIssuer,
  packing: BodyPacking,
): NewIssuance {
  const der = entry.type === 'precertificate' ? entry.precertificateDer : entry.certificateDer;
  return {
    tbsSha256: Buffer.from(tbsSha256, 'hex'),
    certSha256: sha256(der),
    precertificate: entry.type === 'precertificate',
    spkiSha256: sha256(issued.spkiDer ?? nothing),
    issuer,
    serial: serialOctets(issued.serial),
    notBefore: dateOf(issued.notBefore) ?? new Date(0),
    notAfter: dateOf(issued.notAfter) ?? noEnd,
    dnsNames: issued.dnsNames,
    nameKeys: indexKeys(issued.dnsNames).map((key) => Buffer.from(key, 'hex')),
    body: packBody(der, packing),
  };
}

/** Magnitude without leading zeros; a negative one has a zero octet before it, as no positive one of two octets or more has. */
function serialOctets(serial: string | null): Buffer {
  if (serial === null) return nothing;
  return Buffer.from(serial.startsWith('-') ? `00${serial.slice(1)}` : serial, 'hex');
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(Math.max(firstMs, ms));
}

/** By way of a text: a Buffer that comes from OpenSSL takes three times as long. */
function sha256(bytes: Uint8Array): Buffer {
  return Buffer.from(hash('sha256', bytes, 'binary'), 'latin1');
}
