import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { formsIn, secretsOf } from './secret-forms';

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const [scalar] = secretsOf(ec) as [Buffer];

it.each([
  ['bytes', scalar.toString('latin1')],
  ['hexadecimal', scalar.toString('hex').toUpperCase()],
  ['decimal', BigInt(`0x${scalar.toString('hex')}`).toString()],
  ['base64url', String(ec.export({ format: 'jwk' }).d)],
])('finds a secret as %s', (form, text) => {
  expect(formsIn(`before${text}after`, scalar)).toContain(form);
});

it('finds the secrets of an RSA key in PEM, and in PEM within JSON', () => {
  const pem = rsa.export({ format: 'pem', type: 'pkcs8' });
  for (const text of [String(pem), JSON.stringify({ key: pem })])
    expect(secretsOf(rsa).map((secret) => formsIn(text, secret))).toEqual(Array(3).fill(['base64']));
});

it('finds no other secret', () => {
  const text = String(ec.export({ format: 'pem', type: 'pkcs8' }));
  expect(formsIn(text, randomBytes(32))).toEqual([]);
});
