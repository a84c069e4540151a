import { readFileSync } from 'node:fs';
import path from 'node:path';
import { packBody, unpackBody } from './body';

const pem = readFileSync(path.join(__dirname, '../../ct/src/testing/data/test-embedded-cert.pem'), 'utf8');
const certificate = Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64');

it.each(['none', 'deflate'] as const)('is unpacked unchanged: %s', (packing) => {
  for (const der of [certificate, Buffer.alloc(0), Buffer.alloc(0xff_ffff, 7)])
    expect(unpackBody(packBody(der, packing)).equals(der)).toBe(true);
});

it('says in its first byte how it is packed', () => {
  expect(packBody(certificate, 'none')[0]).toBe(0);
  expect(packBody(certificate, 'deflate')[0]).toBe(1);
});

it('is stored unpacked when packing makes it longer', () => {
  const random = Buffer.from('f3a9c1d2e5b7', 'hex');
  expect(packBody(random, 'deflate')).toEqual(Buffer.concat([Buffer.from([0]), random]));
});

it('is rejected when its packing is unknown', () => {
  for (const body of ['', '02', '7f00'])
    expect(() => unpackBody(Buffer.from(body, 'hex'))).toThrow('unknown packing');
});
