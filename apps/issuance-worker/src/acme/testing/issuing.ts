import { generateKeyPairSync } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  AccountKey,
  AcmeAccount,
  type AcmeAuthorization,
  type AcmeMove,
  type AcmeOrder,
  AcmeServer,
  type AcmeServerOptions,
  dns01Value,
  type DownloadedChain,
  type NewOrder,
  nextAcmeMove,
} from '../index';
import { makeCsr } from './csr';
import type { RunningPebble } from './pebble';

export function newKey(kind: 'P-256' | 'P-384' | 'RSA' = 'P-256'): AccountKey {
  const pair =
    kind === 'RSA'
      ? generateKeyPairSync('rsa', { modulusLength: 2_048 })
      : generateKeyPairSync('ec', { namedCurve: kind });
  return new AccountKey(pair.privateKey);
}

export function openServer(
  { directoryUrl, tlsRoot }: Pick<RunningPebble, 'directoryUrl' | 'tlsRoot'>,
  options: Partial<AcmeServerOptions> = {},
): AcmeServer {
  return AcmeServer.open({
    directoryUrl,
    extraRoots: [tlsRoot],
    timeouts: { connectMs: 5_000, headersMs: 10_000, wholeMs: 30_000 },
    maxBytes: { json: 256 * 1024, chain: 64 * 1024 },
    userAgent: 'certwright-spec',
    now: () => new Date(),
    ...options,
  });
}

export async function openAccount(server: AcmeServer, key = newKey()): Promise<AcmeAccount> {
  const found = await server.newAccount(key, { contacts: [], termsOfServiceAgreed: true });
  return server.account(key, found.url);
}

/** pebble-challtestsrv's records for dns-01. */
export class Challenges {
  constructor(
    private readonly url: string,
    private readonly key: AccountKey,
  ) {}

  async publish(dnsName: string, token: string): Promise<void> {
    await this.#set(dnsName, dns01Value(token, this.key));
  }

  async publishWrong(dnsName: string): Promise<void> {
    await this.#set(dnsName, 'another value');
  }

  async #set(dnsName: string, value: string): Promise<void> {
    const body = JSON.stringify({ host: `_acme-challenge.${dnsName}.`, value });
    await fetch(`${this.url}/set-txt`, { method: 'POST', body });
  }
}

export interface Drive {
  readonly account: AcmeAccount;
  readonly csr: Buffer;
  /** Publishes the response to a challenge. */
  readonly publish: (dnsName: string, token: string) => Promise<void>;
  /** Called before each move. */
  readonly onMove?: (move: AcmeMove) => void;
}

/** Does what a caller does under a lease, without pauses: from the stored URL to the certificate or the failure. */
export async function drive(orderUrl: string, { account, csr, publish, onMove }: Drive) {
  const responded = new Map<string, Date>();
  let authorizations: readonly AcmeAuthorization[] = [];
  let order: AcmeOrder = await account.order(orderUrl);
  const methods = new Map(order.dnsNames.map((name) => [name, ['dns-01' as const]]));
  for (let step = 0; step < 500; step += 1) {
    const move = nextAcmeMove(order, authorizations, { methods, responded, waits: step, now: new Date() });
    onMove?.(move);
    if (move.kind === 'failed') return move;
    if (move.kind === 'download')
      return { kind: 'issued' as const, ...(await account.certificate(move.certificateUrl)) };
    if (move.kind === 'read_authorizations') {
      const read = await Promise.all(move.urls.map(async (url) => await account.authorization(url)));
      authorizations = [...authorizations, ...read];
    } else if (move.kind === 'respond') {
      for (const { dnsName, token, url } of move.challenges) {
        await publish(dnsName, token);
        await account.respond(url);
        responded.set(url, new Date());
      }
    } else if (move.kind === 'finalize') order = await account.finalize(move.order, csr);
    else {
      // Ignores a test server's delay of a second.
      await delay(10);
      order = await account.order(orderUrl);
      if (order.status !== 'valid') authorizations = await readAgain(account, authorizations);
    }
  }
  throw new Error('the order did not end');
}

async function readAgain(account: AcmeAccount, known: readonly AcmeAuthorization[]) {
  return await Promise.all(
    known.map(async (authorization) =>
      authorization.status === 'pending' ? await account.authorization(authorization.url) : authorization,
    ),
  );
}

export interface Issued extends DownloadedChain {
  readonly order: AcmeOrder;
  readonly key: ReturnType<typeof makeCsr>['key'];
}

/** Creates an order and issues its certificate. */
export async function issue(
  account: AcmeAccount,
  challenges: Pick<Challenges, 'publish'>,
  wanted: NewOrder,
  onMove?: (move: AcmeMove) => void,
): Promise<Issued> {
  const order = await account.newOrder(wanted);
  const { csr, key } = makeCsr(wanted.dnsNames);
  const publish = async (name: string, token: string) => await challenges.publish(name, token);
  const end = await drive(order.url, { account, csr, publish, ...(onMove === undefined ? {} : { onMove }) });
  if (end.kind === 'failed') throw new Error(JSON.stringify(end));
  return { ...end, order, key };
}
