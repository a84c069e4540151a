import { knownKeySource } from '@certwright/pki';
import { debianKeyDigest, type KeyKind } from './debian-keys';
import type { Origin } from './debian-random';

type Published = readonly [KeyKind, Origin['platform'], Origin['variant'], number, string];

/** SHA-256 over the SubjectPublicKeyInfo of keys that others made on the affected systems, and published. */
const published: readonly Published[] = [
  // HARICA-official/debian-weak-keys: weak_keys/lenny/openssl_0.9.8g-8
  ['rsa2048', 'le64', 'nornd-old', 1, '9a4b5824328b0299c879131dcd849098a65c684b2189bae88df13408fe3e3cdb'],
  ['rsa2048', 'le64', 'nornd-new', 1, '58d21467c64f093934a06d0c8b878c649f885ddc4131ca9720dac9371d765f19'],
  ['rsa2048', 'le64', 'rnd', 1, 'b3ffe607a042b94bae6768866b8f7742a2da496050d5edad7000f6a3daeb5a2d'],
  ['rsa2048', 'le32', 'nornd-new', 1, 'c710beddc107673875d9d175635dccfcb38f75d4ae1939d61c421c7a2f54beef'],
  // badkeys/debianopenssl: rsa2048/ssl, ecp256/ssl, ecp384/ssl
  ['rsa2048', 'be32', 'rnd', 10025, 'faaea440ee268f10479da9f9173e85f721d2b9c97749bd0cba275239215a034e'],
  ['rsa2048', 'be32', 'nornd-new', 10026, '55f7b404cbb22f4341924a9f80c2ce02f374828b7dc45464144f69cb4db1d1b6'],
  ['p256', 'le64', 'rnd', 1, '192ab04ab877d3016b920b3309d8fd52b827bef11a0d6c492c8d8a4da8efe23e'],
  ['p256', 'le32', 'nornd-old', 1, '53d13bc293787e52c4f8bdbb5909d1a7594756cc5b740519a4563f30b1c6a944'],
  ['p256', 'be32', 'rnd', 1, '36a5bae16722ef80063edfcf806374265580eb7ee3f8f2c820490d05024c49f3'],
  ['p384', 'be32', 'nornd-old', 2, 'cb1917973110daa1f3d74cdfdce163c830b894d0a983404a86e15f563398f630'],
  ['p384', 'be32', 'nornd-new', 2, 'a7e7fdf118c0b7f61a42fc6c0159b1f78b8f3771353e2f5cbef0f510ed891184'],
];

it.each(published)('derives the published key %s %s %s %i', (kind, platform, variant, processId, digest) => {
  expect(debianKeyDigest(kind, { platform, variant, processId }).toString('hex')).toBe(digest);
});

it.each([
  ['p256', [0, 1, 4711, 32767]],
  ['p384', [0, 1, 4711, 32767]],
  ['rsa2048', [0, 32767]],
] as const)('the built-in list contains the derived keys of all nine variants: %s', (kind, processIds) => {
  for (const platform of ['le32', 'le64', 'be32'] as const) {
    for (const variant of ['rnd', 'nornd-old', 'nornd-new'] as const) {
      for (const processId of processIds) {
        const digest = debianKeyDigest(kind, { platform, variant, processId }).toString('hex');
        expect(knownKeySource(digest)).toContain('CVE-2008-0166');
      }
    }
  }
});
