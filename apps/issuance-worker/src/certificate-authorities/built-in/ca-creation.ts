import { createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto';
import { promisify } from 'node:util';
import type { CaCertificates } from './ca-issuers';
import { Certificate } from 'pkijs';
import { arrayBuffer } from './extensions';
import type { KeyFiles } from './key-files';
import { assemble, intermediateTbs, rootTbs } from './profile';

const modulusBits = { root: 4096, intermediate: 2048 } as const;
const lifetimeYears = { root: 20, intermediate: 10 } as const;

/** One hour, so that clients whose clock is slightly behind accept new certificates. */
export const backdatingMs = 60 * 60 * 1_000;

const signAsync = promisify<string, Uint8Array, KeyObject, Buffer>(sign);

/** RSASSA-PKCS1-v1_5 with SHA-256: deterministic, which makes signing repeatable. */
export async function signBytes(tbs: Uint8Array, key: KeyObject): Promise<Buffer> {
  return await signAsync('sha256', tbs, key);
}

export interface Publication {
  /** http URL under which `<issuer>.cer` and `<issuer>.crl` are published, without a slash at the end. */
  readonly baseUrl: string;
}

/** Creates root and intermediate, keys first. @param name the organisation in both subjects */
export async function createCa(
  keys: KeyFiles,
  name: string,
  { baseUrl }: Publication,
  now: Date,
): Promise<CaCertificates> {
  const rootKey = await keys.create('root', modulusBits.root);
  const intermediateKey = await keys.create('intermediate', modulusBits.intermediate);
  // Installations must not share a subject, or their chains would be confused.
  const installation = randomBytes(4).toString('hex').toUpperCase();
  const rootContent = rootTbs({
    ...caContent(rootKey, lifetimeYears.root, now),
    organization: name,
    commonName: `${name} Root ${installation}`,
  });
  const root = assemble(rootContent, await signBytes(rootContent, rootKey));
  const intermediateContent = intermediateTbs(
    {
      ...caContent(intermediateKey, lifetimeYears.intermediate, now),
      organization: name,
      commonName: `${name} Intermediate ${installation}`,
    },
    {
      certificate: parseCertificate(root),
      certificateUrl: `${baseUrl}/root.cer`,
      crlUrl: `${baseUrl}/root.crl`,
    },
  );
  const intermediate = assemble(intermediateContent, await signBytes(intermediateContent, rootKey));
  return { root, intermediate };
}

export function parseCertificate(der: Uint8Array): Certificate {
  return Certificate.fromBER(arrayBuffer(der));
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

function caContent(key: KeyObject, years: number, now: Date) {
  const notBefore = wholeSeconds(new Date(now.getTime() - backdatingMs));
  const notAfter = new Date(notBefore);
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + years);
  notAfter.setUTCSeconds(notAfter.getUTCSeconds() - 1);
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  return { serialNumber: randomSerial(), spki, notBefore, notAfter };
}
