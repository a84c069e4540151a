import { randomBytes } from 'node:crypto';
import { Certificate } from 'pkijs';
import { arrayBuffer } from './extensions';

/** One hour, so that clients whose clock is slightly behind accept new certificates. */
export const backdatingMs = 60 * 60 * 1_000;

export function parseCertificate(der: Uint8Array): Certificate {
  return Certificate.fromBER(arrayBuffer(der));
}

/** Name, DER: the subject of a certificate or request. */
export function subjectOf({ subject }: Pick<Certificate, 'subject'>): Uint8Array {
  return new Uint8Array(subject.valueBeforeDecode);
}

/** SubjectPublicKeyInfo, DER. */
export function spkiOfCertificate(certificate: Certificate): Buffer {
  return Buffer.from(certificate.subjectPublicKeyInfo.toSchema().toBER());
}

/**
 * Content bytes of a random serial number: bits `01`, then 126 random bits, hence positive and minimal (Baseline
 * Requirements 7.1: at least 64 bits from a CSPRNG; RFC 5280, 4.1.2.2: at most 20 bytes).
 */
export function randomSerial(): Buffer {
  const serial = randomBytes(16);
  serial.writeUInt8((serial.readUInt8(0) & 0x3f) | 0x40, 0);
  return serial;
}

/** Whole seconds: certificates have no fractions. */
export function wholeSeconds(instant: Date): Date {
  return new Date(Math.floor(instant.getTime() / 1_000) * 1_000);
}
