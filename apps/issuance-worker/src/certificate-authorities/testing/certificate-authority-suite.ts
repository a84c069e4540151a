import { X509Certificate } from 'node:crypto';
import { LeaseLost } from '@certwright/postgres';
import { readCertificate } from '@certwright/pki';
import { certificateFaults } from '../../issuance/issued-certificate';
import { FaultyDatabase } from '../../testing/faulty-database';
import { leasedRequest } from '../../testing/leased-request';
import { openIssuance, type OpenedIssuance, opensslCsr } from '../../testing/opened-issuance';
import type { CertificateAuthority, IssuedChain, RevocationOrder } from '../certificate-authority';
import {
  attempt,
  type AuthoritySpec,
  type AuthorityWorld,
  type Inability,
  obtain,
  referenceAt,
} from './authority-world';

const dnsNames = ['*.suite.example.com', 'suite.example.com'];

/** The contract of `CertificateAuthority` as one suite: every adapter's spec runs it. */
export function describeCertificateAuthority({ name, setUp, cannot = {} }: AuthoritySpec): void {
  describe(`${name} as a certificate authority`, () => {
    const csr = opensslCsr(dnsNames);
    let world: AuthorityWorld;
    /** Two processes of one deployment. */
    let first: CertificateAuthority;
    let second: CertificateAuthority;

    beforeAll(async () => {
      world = await setUp();
      [first, second] = [await world.open(), await world.open()];
    }, 60_000);
    afterAll(async () => await world.close());
    afterEach(() => world.setAvailable?.(true));

    const rule = (needs: Inability | null, title: string, hold: () => Promise<void>): void => {
      const reason = needs === null ? undefined : cannot[needs];
      if (reason === undefined) it(title, hold);
      else it.skip(`${title}: ${reason}`, hold);
    };
    const order = async (): Promise<OpenedIssuance> => await openIssuance(world.repositories, dnsNames, csr);
    const leased = async (opened?: OpenedIssuance) =>
      await leasedRequest(world.database, opened ?? (await order()));
    const alternating = () => {
      let calls = 0;
      return () => ((calls += 1) % 2 === 1 ? first : second);
    };
    /** @returns how many certificates the CA issued meanwhile */
    const issuedDuring = async (work: () => Promise<unknown>): Promise<number> => {
      const before = await world.issuedCount();
      await work();
      return (await world.issuedCount()) - before;
    };

    describe('submit', () => {
      rule(null, 'returns one reference per issuance, whichever process it is repeated in', async () => {
        const { request } = await leased();
        const reference = await referenceAt(first, request);
        expect(reference).toMatch(/./);
        for (const again of [first, second]) expect(await referenceAt(again, request)).toBe(reference);
      });

      rule(null, 'returns one reference when it is called twice at the same time', async () => {
        const { request } = await leased();
        const both = [first, second].map(async (process) => await referenceAt(process, request));
        const [one, other] = await Promise.all(both);
        expect(one).toMatch(/./);
        expect(other).toBe(one);
      });

      rule(null, 'returns different references for two issuances of the same names', async () => {
        const references = await Promise.all(
          [await leased(), await leased()].map(async ({ request }) => await referenceAt(first, request)),
        );
        expect(references[0]).not.toBe(references[1]);
      });

      rule(
        null,
        'throws LeaseLost when another worker holds the issuance and nothing is stored',
        async () => {
          const opened = await order();
          const late = (await leased(opened)).request;
          const current = (await leased(opened)).request;
          await expect(first.submit(late)).rejects.toThrow(LeaseLost);
          const count = await issuedDuring(async () => await obtain(() => second, current));
          expect(count).toBe(1);
        },
      );

      for (const when of ['before', 'after'] as const)
        rule(
          null,
          `is resumed by another process when the database fails ${when} any statement, and one certificate is issued`,
          async () => {
            for (let nth = 1; ; nth += 1) {
              const { request } = await leased();
              const faulty = new FaultyDatabase(world.database, nth, when);
              const struck = await world.open(faulty.source);
              const count = await issuedDuring(async () => {
                await struck.submit(request).catch(() => undefined);
                await obtain(() => second, request);
              });
              expect({ nth, count }).toEqual({ nth, count: 1 });
              if (!faulty.struck) {
                expect(nth).toBeGreaterThan(1);
                break;
              }
            }
          },
        );
    });

    describe('collect', () => {
      rule(null, 'returns a certificate for exactly the names and the key of the request', async () => {
        const { request, terms } = await leased();
        const { issued } = await obtain(() => first, request);
        expect(certificateFaults(issued, terms, request.clock())).toEqual([]);
        const reading = readCertificate(issued.leaf);
        expect(reading.ok && [...reading.certificate.dnsNames].sort()).toEqual(dnsNames);
      });

      rule(null, 'returns a chain from the issuer of the leaf up to the root, without the root', async () => {
        const { issued } = await obtain(() => first, (await leased()).request);
        expectChain(issued);
      });

      rule(
        null,
        'returns the same certificate every time, in any process, and it is issued once',
        async () => {
          const { request } = await leased();
          const count = await issuedDuring(async () => {
            const { reference, issued } = await obtain(alternating(), request);
            for (const again of [first, second, await world.open()])
              expect(await again.collect(reference, request)).toMatchObject({
                kind: 'issued',
                issued: { leaf: issued.leaf, chain: issued.chain, root: issued.root },
              });
            const repeated = await obtain(alternating(), request);
            expect(repeated).toMatchObject({ reference, issued: { leaf: issued.leaf } });
          });
          expect(count).toBe(1);
        },
      );

      rule(null, 'returns a certificate of its own to each of two issuances at the same time', async () => {
        const requests = [await leased(), await leased()];
        const obtained = await Promise.all(
          requests.map(async ({ request }) => await obtain(alternating(), request)),
        );
        const serials = obtained.map(({ issued }) => new X509Certificate(issued.leaf).serialNumber);
        expect(new Set(serials).size).toBe(2);
      });

      rule(null, 'throws for a reference that nothing is stored under', async () => {
        const { request } = await leased();
        const count = await issuedDuring(async () => {
          for (const unknown of world.unknownReferences)
            await expect(first.collect(unknown, request)).rejects.toThrow();
        });
        expect(count).toBe(0);
      });

      rule(null, 'throws for the reference of another issuance', async () => {
        const { request: owner } = await leased();
        const { request: stranger } = await leased();
        const submitted = await first.submit(owner);
        if (submitted.kind !== 'submitted') throw new Error(submitted.error.outcome.code);
        const count = await issuedDuring(async () => {
          await expect(first.collect(submitted.reference, stranger)).rejects.toThrow(
            stranger.lease.issuanceId,
          );
        });
        expect(count).toBe(0);
      });

      rule(null, 'issues nothing more for a worker that has lost its lease', async () => {
        const opened = await order();
        const late = (await leased(opened)).request;
        const count = await issuedDuring(async () => {
          await first.submit(late);
          const current = (await leased(opened)).request;
          const { reference, issued } = await obtain(() => second, current);
          const outcome = await first.collect(reference, late).catch((error: unknown) => error);
          if (!(outcome instanceof LeaseLost))
            expect(outcome).toMatchObject({ kind: 'issued', issued: { leaf: issued.leaf } });
        });
        expect(count).toBe(1);
      });

      rule('lost_answer', 'resumes after a lost response, and the certificate is issued once', async () => {
        const { request } = await leased();
        const count = await issuedDuring(async () => {
          world.loseNextIssuance?.();
          await obtain(alternating(), request);
        });
        expect(count).toBe(1);
      });
    });

    describe('a CA that is unavailable', () => {
      rule('unavailable', 'is tried again later and fails no issuance for good', async () => {
        const { request } = await leased();
        const count = await issuedDuring(async () => {
          world.setAvailable?.(false);
          expect(await attempt(first, request)).toBe('tried again');
          expect(await attempt(second, request)).toBe('tried again');
          world.setAvailable?.(true);
          await obtain(alternating(), request);
        });
        expect(count).toBe(1);
      });

      rule('unavailable', 'is tried again with what was submitted before', async () => {
        const { request } = await leased();
        const count = await issuedDuring(async () => {
          expect(await first.submit(request)).toMatchObject({ kind: 'submitted' });
          world.setAvailable?.(false);
          expect(await attempt(second, request)).toBe('tried again');
          world.setAvailable?.(true);
          await obtain(() => second, request);
        });
        expect(count).toBe(1);
      });

      rule('unavailable', 'makes a revocation throw, and the repetition revokes', async () => {
        const { reference, order: revocation } = await issuedForRevocation();
        world.setAvailable?.(false);
        await expect(first.revoke(reference, revocation)).rejects.toThrow();
        expect(await world.revocationReason(revocation.serialNumber)).toBeNull();
        world.setAvailable?.(true);
        await second.revoke(reference, revocation);
        expect(await world.revocationReason(revocation.serialNumber)).toBe(4);
      });
    });

    describe('revoke', () => {
      rule(null, 'revokes for the reason, and repeated in any process it changes nothing', async () => {
        const { reference, order: revocation } = await issuedForRevocation();
        expect(await world.revocationReason(revocation.serialNumber)).toBeNull();
        for (const again of [first, first, second]) {
          await again.revoke(reference, revocation);
          expect(await world.revocationReason(revocation.serialNumber)).toBe(4);
        }
      });

      rule(null, 'revokes one certificate and no other', async () => {
        const [revoked, kept] = [await issuedForRevocation(), await issuedForRevocation()];
        await first.revoke(revoked.reference, revoked.order);
        expect(await world.revocationReason(kept.order.serialNumber)).toBeNull();
      });

      rule('changed_reason', 'replaces an earlier reason by the new one', async () => {
        const { reference, order: revocation } = await issuedForRevocation();
        await first.revoke(reference, revocation);
        await first.revoke(reference, { ...revocation, reason: 1 });
        expect(await world.revocationReason(revocation.serialNumber)).toBe(1);
      });

      rule(null, 'throws for a reference that nothing is stored under', async () => {
        const { order: revocation } = await issuedForRevocation();
        for (const unknown of world.unknownReferences)
          await expect(first.revoke(unknown, revocation)).rejects.toThrow();
        expect(await world.revocationReason(revocation.serialNumber)).toBeNull();
      });
    });

    async function issuedForRevocation(): Promise<{
      readonly reference: string;
      readonly order: RevocationOrder;
    }> {
      const { reference, issued } = await obtain(() => first, (await leased()).request);
      const serialNumber = new X509Certificate(issued.leaf).serialNumber.toLowerCase();
      return { reference, order: { serialNumber, leaf: issued.leaf, reason: 4 } };
    }
  });
}

function expectChain({ leaf, chain, root }: IssuedChain): void {
  const path = [leaf, ...chain, root].map((der) => new X509Certificate(der));
  path.slice(1).forEach((issuer, index) => {
    const issued = path[index];
    expect(issued?.checkIssued(issuer) && issued.verify(issuer.publicKey)).toBe(true);
  });
  const top = path.at(-1);
  expect(top?.checkIssued(top)).toBe(true);
  expect(chain.some((der) => Buffer.from(der).equals(root))).toBe(false);
}
