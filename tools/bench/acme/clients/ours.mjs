// Our client alone, as the worker uses it, without PostgreSQL, Redis or leases.
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { workspaceRoot } from '../../../build/bundle.mjs';
import { publish } from '../challenge-server.mjs';
import { maxPollMs, minPollMs, sideBySide } from '../side-by-side.mjs';

/** The bundled client. */
const bundled = path.join(workspaceRoot, 'dist/bench/acme/client.js');

/** The same number of concurrent orders and the same polling intervals as the others. */
export async function open(setting) {
  const lanes = setting.concurrency;
  return await openClient(setting, {
    lanes,
    gate: (work) => work(),
    wait: async (_, pauseMs) => await delay(pauseMs),
  });
}

/** @param {{ lanes: number, gate: <T>(work: () => Promise<T>) => Promise<T>, wait: (until: Date, pauseMs: number) => Promise<void> }} how */
export async function openClient(setting, { lanes, gate, wait }) {
  const acme = createRequire(import.meta.url)(bundled);
  const server = acme.AcmeServer.open({
    directoryUrl: setting.directoryUrl,
    extraRoots: [readFileSync(setting.tlsRootFile, 'utf8')],
    timeouts: { connectMs: 5_000, headersMs: 10_000, wholeMs: 30_000 },
    maxBytes: { json: 256 * 1024, chain: 64 * 1024 },
    userAgent: 'certwright-bench',
    now: () => new Date(),
  });
  const key = new acme.AccountKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
  const found = await server.newAccount(key, { contacts: [], termsOfServiceAgreed: true });
  const account = server.account(key, found.url);
  const one = async ({ name, csrFile }) => {
    const csr = derOf(readFileSync(csrFile, 'utf8'));
    const methods = new Map([[name, ['dns-01']]]);
    const responded = new Map();
    let authorizations = [];
    let waits = 0;
    let order = await gate(() => account.newOrder({ dnsNames: [name] }));
    for (;;) {
      const move = acme.nextAcmeMove(order, authorizations, { methods, responded, waits, now: new Date() });
      switch (move.kind) {
        case 'failed':
          throw new Error(`${move.why} ${JSON.stringify(move.names)}`);
        case 'download': {
          const { leaf } = await gate(() => account.certificate(move.certificateUrl));
          if (!new X509Certificate(leaf.der).subjectAltName.includes(name)) throw new Error('another name');
          return;
        }
        case 'read_authorizations': {
          const read = await gate(() => Promise.all(move.urls.map((url) => account.authorization(url))));
          authorizations = [...authorizations, ...read];
          break;
        }
        case 'respond':
          for (const { token, url } of move.challenges) {
            await publish(setting.challengesUrl, `_acme-challenge.${name}`, acme.dns01Value(token, key));
            await gate(() => account.respond(url));
            responded.set(url, new Date());
          }
          waits = 0;
          break;
        case 'finalize':
          order = await gate(() => account.finalize(move.order, csr));
          waits = 0;
          break;
        case 'wait':
          await wait(move.until, Math.min(minPollMs * 2 ** waits, maxPollMs));
          waits += 1;
          order = await gate(() => account.order(order.url));
          // Read again only if needed: the order shows whether all of them are valid.
          if (order.status === 'invalid') authorizations = [];
      }
    }
  };
  return { issue: async (orders) => await sideBySide(Math.min(lanes, orders.length), orders, one) };
}

const derOf = (pem) => Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');
