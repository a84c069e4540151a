import { createHash } from 'node:crypto';

/** Minimal DER encoder for specs. */
export function tlv(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const digits = body.length.toString(16);
  const length = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length]), length, body]);
}

export const seq = (...parts: readonly Uint8Array[]) => tlv(0x30, ...parts);
export const oid = (digits: string) => tlv(0x06, Buffer.from(digits, 'hex'));
const text = (tag: number, value: string) => tlv(tag, Buffer.from(value, 'latin1'));
const name = (commonName: string) => seq(tlv(0x31, seq(oid('550403'), text(0x0c, commonName))));
const time = (date: Date) => text(0x18, `${date.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`);
const algorithm = seq(oid('2a8648ce3d040302'));
const spki = (seed: string) =>
  seq(
    seq(oid('2a8648ce3d0201'), oid('2a8648ce3d030107')),
    tlv(0x03, Buffer.from([0, 4]), createHash('sha512').update(seed).digest()),
  );
const poison = seq(
  oid('2b06010401d679020403'),
  tlv(0x01, Buffer.from([0xff])),
  tlv(0x04, Buffer.from([5, 0])),
);
const sctList = seq(oid('2b06010401d679020402'), tlv(0x04, tlv(0x04, Buffer.alloc(100, 7))));

/** With an invalid signature: it is never verified. */
const signed = (tbs: Uint8Array) => seq(tbs, algorithm, tlv(0x03, Buffer.from([0]), Buffer.alloc(70, 0x77)));

export const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

const day = 86_400_000;

/** The same for a precertificate and its certificate, in either order. */
const usualEnd = new Date(Date.now() + 60 * day);

export interface Forging {
  readonly names?: readonly string[];
  readonly notAfter?: Date;
  /** Bytes of an unknown extension. */
  readonly padding?: number;
}

const issuerName = name('Spec Issuer');
const issuerSpki = spki('issuer');

/** The CA certificate that issued every forged certificate. */
export const issuerDer = signed(
  seq(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))),
    tlv(0x02, Buffer.from([1])),
    algorithm,
    issuerName,
    seq(time(new Date('2020-01-01')), time(new Date('2040-01-01'))),
    issuerName,
    issuerSpki,
  ),
);
export const issuerSpkiSha256 = sha256(issuerSpki);

/** The log's data of one submission. */
export interface Submission {
  /** DER of the certificate, or of the TBSCertificate of a precertificate. */
  readonly leafDer: Buffer;
  readonly precertificateDer: Buffer | null;
  readonly timestamp: number;
}

interface Pair {
  readonly precertificate: Submission;
  readonly certificate: Submission;
}

/** A precertificate and its certificate of the same issuance. */
export function forgePair(nth: number, forging?: Forging): Pair {
  if (forging !== undefined) return forge(nth, forging);
  const pair = usual.get(nth) ?? forge(nth, {});
  usual.set(nth, pair);
  return pair;
}

/** Specs often use the same ones. */
const usual = new Map<number, Pair>();

function forge(
  nth: number,
  { names = [`n${nth}.example.com`], notAfter = usualEnd, padding = 0 }: Forging,
): Pair {
  const alternativeNames = seq(oid('551d11'), tlv(0x04, seq(...names.map((each) => text(0x82, each)))));
  const unknown = padding === 0 ? [] : [seq(oid('2b0601'), tlv(0x04, Buffer.alloc(padding, nth)))];
  const serial = Buffer.alloc(8);
  serial.writeUInt32BE(0x10000000 + nth, 4);
  const tbs = (...more: readonly Buffer[]) =>
    seq(
      tlv(0xa0, tlv(0x02, Buffer.from([2]))),
      tlv(0x02, Buffer.from([0x11]), serial),
      algorithm,
      issuerName,
      seq(time(new Date(notAfter.getTime() - 90 * day)), time(notAfter)),
      name(names[0] ?? ''),
      spki(`key ${nth}`),
      tlv(0xa3, seq(alternativeNames, ...unknown, ...more)),
    );
  const timestamp = Date.UTC(2026, 0, 1) + nth * 1_000;
  return {
    precertificate: { leafDer: tbs(), precertificateDer: signed(tbs(poison)), timestamp },
    certificate: { leafDer: signed(tbs(sctList)), precertificateDer: null, timestamp: timestamp + 1 },
  };
}

/** Precertificates and certificates alternate: half as many issuances as submissions. */
export function forgeMany(count: number, first = 0, forging?: Forging): Submission[] {
  return Array.from({ length: count }, (_, at) => {
    const pair = forgePair(first + Math.floor(at / 2), forging);
    return at % 2 === 0 ? pair.precertificate : pair.certificate;
  });
}
