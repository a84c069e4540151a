import { type LogEntry, readEntry } from '@certwright/ct';
import { issuerDer } from '../testing/forged-entries';
import { Issuers } from './issuers';

const none = () => Promise.resolve(null);

/** Another root of the same name: one bit of the key differs. */
function otherRoot(): Buffer {
  const der = Buffer.from(issuerDer);
  const at = der.lastIndexOf(Buffer.from('03420004', 'hex')) + 8;
  der[at] = (der[at] ?? 0) ^ 1;
  return der;
}

it.each(['certificates', 'fingerprints'] as const)(
  'takes two roots of one name, each logged without a chain (%s), for two issuers',
  async (of) => {
    const issuers = new Issuers();
    for (const certificateDer of [issuerDer, otherRoot()]) {
      const chain = { of, bytes: Buffer.alloc(0) };
      const head = { timestamp: 0, timestampedEntry: Buffer.alloc(0), leafIndex: null };
      const entry: LogEntry = { type: 'certificate', certificateDer, ...head, chain };
      const issuer = await issuers.of(entry, readEntry(entry), none);
      expect(issuer.certificateDer).toEqual(certificateDer);
    }
  },
);
