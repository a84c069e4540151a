import type { KeyObject } from 'node:crypto';

/** The secret numbers of a private key: big-endian, as long as the key says. */
export function secretsOf(key: KeyObject): readonly Buffer[] {
  const { d, p, q } = key.export({ format: 'jwk' });
  return [d, p, q].filter((value) => value !== undefined).map((value) => Buffer.from(value, 'base64url'));
}

/**
 * The forms in which a text contains a secret: as bytes, hexadecimal, decimal, or base64 at any position of a larger value,
 * whose lines may be broken, as in PEM within JSON.
 *
 * @param text bytes as Latin-1
 */
export function formsIn(text: string, secret: Uint8Array): readonly string[] {
  const joined = text.replace(/\\[nr]|[\r\n]/g, '');
  return [...formsOf(Buffer.from(secret))]
    .filter(([, form]) => text.includes(form) || joined.includes(form))
    .map(([name]) => name);
}

function* formsOf(secret: Buffer): Iterable<readonly [name: string, form: string]> {
  const hex = secret.toString('hex');
  yield ['bytes', secret.toString('latin1')];
  yield ['hexadecimal', hex];
  yield ['hexadecimal', hex.toUpperCase()];
  yield ['decimal', BigInt(`0x${hex}`).toString()];
  for (const before of [0, 1, 2]) {
    const whole = Buffer.concat([Buffer.alloc(before), secret]).toString('base64');
    // Characters that have no bits of its neighbours.
    const form = whole.slice(Math.ceil((before * 8) / 6), Math.floor(((before + secret.length) * 8) / 6));
    yield ['base64', form];
    yield ['base64url', form.replaceAll('+', '-').replaceAll('/', '_')];
  }
}
