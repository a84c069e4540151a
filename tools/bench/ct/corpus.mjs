// Issuances with the structure of public logs: names of real entries (libs/ct/src/testing/data), each list of names repeated
// below other registered domains, and incompressible bytes instead of certificates, as long as compressed ones.
import { createHash, randomFillSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { workspaceRoot } from '../../build/bundle.mjs';

/** A precertificate that was deflated with the dictionary: most have 350 to 550 bytes. */
const bodyBytes = { min: 350, span: 200 };
const pool = randomFillSync(Buffer.alloc(1 << 20));
const dayMs = 86_400_000;

/** Days. Half of all certificates are valid for 90 days, some for a year. */
const lifetimes = [90, 90, 90, 90, 47, 199, 365, 6];

const nameLists = ['navigli2025h2-000', 'navigli2025h2-001'].flatMap((file) =>
  readFileSync(path.join(workspaceRoot, `libs/ct/src/testing/data/${file}.names.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .map(({ DNS, Subject }) => [...new Set([...(DNS ?? []), Subject?.CommonName].filter(Boolean))]),
);

/** The same name below another registered domain: `www.example.com` becomes `www.example-7.com`. */
function namesOf(nth) {
  const copy = Math.floor(nth / nameLists.length);
  const names = nameLists[nth % nameLists.length];
  if (copy === 0) return names;
  return names.map((name) => {
    const labels = name.split('.');
    const at = Math.max(0, labels.length - 2);
    labels[at] = `${labels[at]}-${copy}`;
    return labels.join('.');
  });
}

const issuers = Array.from({ length: 12 }, (_, nth) => ({
  spkiSha256: Buffer.alloc(32, nth),
  nameDer: Buffer.from(`3000${nth.toString(16).padStart(2, '0')}`, 'hex'),
  certificateDer: null,
  spkiDer: null,
}));

/** Deterministic bytes: SHA-256 over a label. */
const digest = (label) => createHash('sha256').update(label).digest();

/**
 * @param {{ indexKeys(names: readonly string[]): string[] }} ct libs/ct
 * @param {number} nth which one, from 0
 * @param {readonly string[]} [names] instead of those that a real certificate has
 */
export function issuance(ct, nth, names = namesOf(nth)) {
  const tbsSha256 = digest(`tbs ${nth}`);
  const at = (nth * 7_919) % (pool.length - 600);
  const notBefore = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 3_600_000);
  const lifetime = lifetimes[tbsSha256[0] % lifetimes.length];
  return {
    tbsSha256: tbsSha256.toString('hex'),
    certSha256: pool.toString('hex', at, at + 32),
    precertificate: true,
    spkiSha256: pool.toString('hex', at + 32, at + 64),
    issuer: issuers[tbsSha256[1] % issuers.length],
    crlUrl: null,
    serial: pool.subarray(at + 64, at + 80),
    notBefore,
    notAfter: new Date(notBefore.getTime() + lifetime * dayMs + tbsSha256[2] * 60_000),
    dnsNames: names,
    oddNames: [],
    nameKeys: ct.indexKeys(names),
    body: pool.subarray(at, at + bodyBytes.min + (nth % bodyBytes.span)),
  };
}
