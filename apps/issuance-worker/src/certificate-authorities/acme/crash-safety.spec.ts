import { Transactions } from '@certwright/core-schema';
import { Attachments } from '@certwright/ordering';
import { setTimeout as delay } from 'node:timers/promises';
import { CuttingProxy } from '../../testing/cutting-proxy';
import { AcmeIssuing } from '../../testing/acme-issuing';
import { FaultyDatabase } from '../../testing/faulty-database';
import { type OpenedIssuance, opensslCsr } from '../../testing/opened-issuance';
import { installedPebbles } from '../../acme/testing/pebble';

const dnsNames = ['a.example.com', '*.a.example.com'];
const csr = opensslCsr(dnsNames);

let acme: AcmeIssuing;
let proxy: CuttingProxy;
beforeAll(async () => {
  acme = await AcmeIssuing.open();
  const pebble = await acme.pebble('pebble');
  proxy = await CuttingProxy.start(pebble.directoryUrl, pebble.tlsRoot);
  await acme.database.query(`UPDATE certificate_authority SET directory_url = $1, tls_roots = $2`, [
    proxy.directoryUrl,
    proxy.tlsRoot,
  ]);
  await acme.authoritiesAre('pebble');
  // Creates the account first, so that the statements and exchanges of each round are the same.
  await acme.advance(await acme.order(dnsNames, csr));
}, 60_000);
afterAll(async () => {
  await proxy.stop();
  await acme.close();
});
beforeEach(() => acme.unexpectedErrors.splice(0));

const describeWithPebble = installedPebbles.length > 0 ? describe : describe.skip;

/** Another worker continues the issuance at once, and the CA is no longer marked as down. */
async function goOn(opened: OpenedIssuance): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) {
    await acme.timePasses();
    await acme.database.query(`UPDATE certificate_authority SET down_until = NULL, problem = NULL`);
    if ((await acme.advance(opened)).state === 'issued') return;
  }
}

/** Waits within the run, like a worker process, but not for as long as the CA requests. */
const briefly = async () => {
  await delay(10);
  return true;
};

/** Runs until an injected fault or the end. */
async function advance(
  worker: ReturnType<AcmeIssuing['worker']>,
  opened: OpenedIssuance,
  struck: () => boolean,
): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) {
    await worker.run(opened.issuanceId, null, briefly).catch(() => undefined);
    if (struck() || (await acme.state(opened.issuanceId)).state !== 'open') return;
    await delay(10);
    await acme.timePasses();
  }
}

async function expectOnce(opened: OpenedIssuance, finalizedBefore: number, nth: number): Promise<void> {
  expect({ nth, certificates: (await acme.certificates(opened)).length }).toEqual({ nth, certificates: 1 });
  expect({ nth, finalized: proxy.finalized - finalizedBefore }).toEqual({ nth, finalized: 1 });
  const issued = (await acme.orders(opened)).filter(({ state }) => state === 'issued');
  expect({ nth, issued: issued.length }).toEqual({ nth, issued: 1 });
}

describeWithPebble.each(['before', 'after'] as const)(
  'the database connection fails %s a statement',
  (when) => {
    it('leads to one certificate and one finalize', async () => {
      for (let nth = 1; ; nth += 1) {
        const opened = await acme.order(dnsNames, csr);
        const finalized = proxy.finalized;
        const faulty = new FaultyDatabase(acme.asWorker, nth, when);
        await advance(acme.worker(faulty.source), opened, () => faulty.struck);
        await goOn(opened);
        await expectOnce(opened, finalized, nth);
        if (!faulty.struck) {
          expect(nth).toBeGreaterThan(12);
          break;
        }
      }
    }, 180_000);
  },
);

describeWithPebble.each(['before', 'after'] as const)(
  'the connection is cut %s the CA receives a request',
  (when) => {
    it('leads to one certificate and one finalize', async () => {
      for (let nth = 1; ; nth += 1) {
        const opened = await acme.order(dnsNames, csr);
        const finalized = proxy.finalized;
        proxy.cut(nth, when);
        await advance(acme.worker(), opened, () => proxy.struck);
        const { struck } = proxy;
        proxy.passAll();
        await goOn(opened);
        await expectOnce(opened, finalized, nth);
        if (!struck) {
          expect(nth).toBeGreaterThan(8);
          break;
        }
      }
    }, 180_000);
  },
);

describeWithPebble('a worker that is frozen past its lease', () => {
  it.each(['newOrder', 'finalizing', 'attaching'] as const)(
    'in %s writes nothing when it wakes up',
    async (where) => {
      const opened = await acme.order(dnsNames, csr);
      const finalized = proxy.finalized;
      let frozen = false;
      const wake = async () => {
        if (frozen) return;
        frozen = true;
        await goOn(opened);
      };
      const acmeOrders = acme.orderRepository();
      const freezing = Object.assign(Object.create(acmeOrders) as typeof acmeOrders, {
        opened: async (...args: Parameters<typeof acmeOrders.opened>) => {
          if (where === 'newOrder') await wake();
          await acmeOrders.opened(...args);
        },
        finalizing: async (...args: Parameters<typeof acmeOrders.finalizing>) => {
          if (where === 'finalizing') await wake();
          await acmeOrders.finalizing(...args);
        },
      });
      const attachments = new Attachments(new Transactions(acme.asWorker));
      const freezingToo = Object.assign(Object.create(attachments) as typeof attachments, {
        attach: async (...args: Parameters<typeof attachments.attach>) => {
          if (where === 'attaching') await wake();
          return await attachments.attach(...args);
        },
      });
      for (let turn = 0; turn < 20 && !frozen; turn += 1) {
        await acme
          .worker(acme.asWorker, { orders: freezing }, freezingToo)
          .run(opened.issuanceId, null, briefly);
        await acme.timePasses();
      }
      expect(frozen).toBe(true);
      await expectOnce(opened, finalized, 0);
      expect(await acme.state(opened.issuanceId)).toMatchObject({ state: 'issued', failures: 0 });
      expect(acme.unexpectedErrors).toEqual([]);
    },
  );

  it('two concurrent workers issue one certificate', async () => {
    const opened = await acme.order(dnsNames, csr);
    const finalized = proxy.finalized;
    await Promise.all([acme.advance(opened), acme.advance(opened)]);
    await expectOnce(opened, finalized, 0);
  });
});
