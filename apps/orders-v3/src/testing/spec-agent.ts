import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import {
  agentId,
  agentPaths,
  type ClusterKey,
  enrolmentTokenSha256,
  newClusterKey,
  newEnrolmentToken,
  newIdentityKey,
  newSealingKey,
  type OrderMessage,
  rawPublicKey,
  readState,
  sealKey,
  type SealedKey,
  signRequest,
  signStatement,
  type StateResponse,
  stateQuery,
} from '@certwright/agent-contract';
import type { ReceivedResponse } from '@certwright/testing';
import { createHash } from 'node:crypto';
import { certificateRequest, type KeyPair } from './certificate-request';
import type { RunningApi, Tenant } from './running-api';

export interface SpecCluster {
  readonly tenant: Tenant;
  readonly name: string;
  /** Null: a cluster of one agent. */
  readonly key: ClusterKey | null;
}

/** A cluster, by default with a cluster key. */
export async function specCluster(
  api: RunningApi,
  tenant: Tenant,
  name: string,
  key: ClusterKey | null = newClusterKey(),
): Promise<SpecCluster> {
  await api.database.query(`INSERT INTO cluster (account_id, name, cluster_key) VALUES ($1, $2, $3)`, [
    tenant.accountId,
    name,
    key === null ? null : Buffer.from(key.publicKey),
  ]);
  return { tenant, name, key };
}

/** An enrolment token of the cluster. */
export async function enrolmentToken(
  api: RunningApi,
  { tenant, name }: SpecCluster,
  { uses = 1, expiresIn = '1 hour' }: { uses?: number; expiresIn?: string } = {},
): Promise<string> {
  const token = newEnrolmentToken();
  await api.database.query(
    `INSERT INTO cluster_enrolment (account_id, cluster, token_sha256, uses, expires_at)
     VALUES ($1, $2, $3, $4, now() + $5::interval)`,
    [tenant.accountId, name, enrolmentTokenSha256(token), uses, expiresIn],
  );
  return token;
}

export interface MadeKey extends KeyPair {
  readonly pkcs8: Buffer;
  readonly spkiSha256: string;
  /** Base64 DER. */
  readonly csr: string;
}

export function makeKey(order: Pick<OrderMessage, 'dns_names' | 'key_type'>): MadeKey {
  const pair =
    order.key_type === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = pair.publicKey.export({ type: 'spki', format: 'der' });
  return {
    ...pair,
    pkcs8: pair.privateKey.export({ type: 'pkcs8', format: 'der' }),
    spkiSha256: createHash('sha256').update(spki).digest('hex'),
    csr: certificateRequest(pair, { dnsNames: order.dns_names }),
  };
}

/** An agent as a program on a host would call the API. */
export class SpecAgent {
  readonly identity = newIdentityKey();
  readonly sealing = newSealingKey();
  readonly identityKey = rawPublicKey(this.identity);
  readonly id = agentId(this.identityKey);
  /** Of the last state. */
  version = 0;
  /** Seconds by which its clock is ahead. */
  clockOffsetS = 0;
  #reports = 0;

  constructor(
    private readonly api: RunningApi,
    readonly cluster: SpecCluster,
  ) {}

  /** A member of the cluster. */
  static async enrolled(api: RunningApi, cluster: SpecCluster, token?: string): Promise<SpecAgent> {
    const agent = new SpecAgent(api, cluster);
    const response = await agent.enrol(token ?? (await enrolmentToken(api, cluster)));
    if (response.status !== 200) throw new Error(response.text);
    return agent;
  }

  enrolBody(token: string) {
    const { key } = this.cluster;
    const sealingKey = rawPublicKey(this.sealing);
    return {
      token,
      identity_key: Buffer.from(this.identityKey).toString('base64url'),
      sealing_key: Buffer.from(sealingKey).toString('base64url'),
      statement:
        key === null
          ? null
          : signStatement(key, {
              identityKey: this.identityKey,
              sealingKey,
              time: new Date('2026-11-24T12:00:00Z'),
            }),
      name: 'host',
      version: '1.0.0',
      platform: 'linux x64',
    };
  }

  enrol = (token: string) => this.post(agentPaths.enrol, this.enrolBody(token));
  get = (path: string) => this.call('GET', path, null);
  post = (path: string, body: unknown) => this.call('POST', path, body);

  async call(
    method: string,
    target: string,
    body: unknown,
    { headers = {}, key = this.identity }: { headers?: Record<string, string>; key?: KeyObject } = {},
  ): Promise<ReceivedResponse> {
    const text = body === null ? '' : JSON.stringify(body);
    const [path = '', query] = target.split('?');
    const signed = signRequest(
      { method, path, query: query === undefined ? '' : `?${query}`, body: Buffer.from(text) },
      { agentId: this.id, privateKey: key, now: new Date(Date.now() + this.clockOffsetS * 1_000) },
    );
    return await this.api.call(method, target, {
      ...(body === null ? {} : { body: JSON.parse(text) as unknown }),
      headers: { ...signed, ...headers },
    });
  }

  /** @returns null: nothing changed */
  async state(waitS: number): Promise<StateResponse | null> {
    const response = await this.get(`${agentPaths.state}${stateQuery(this.version, waitS)}`);
    if (response.status === 204) return null;
    if (response.status !== 200) throw new Error(`${response.status} ${response.text}`);
    const state = readState(Buffer.from(response.text));
    this.version = state.version;
    return state;
  }

  /** Polls until the order is as expected. */
  async until(name: string, isExpected: (order: OrderMessage) => boolean): Promise<OrderMessage> {
    const deadline = Date.now() + 20_000;
    while (Date.now() < deadline) {
      const state = await this.state(5);
      const order = state?.orders.find((each) => each.name === name);
      if (order !== undefined && isExpected(order)) return order;
    }
    throw new Error(`the order ${name} did not become as expected`);
  }

  /** Waits for the task `make_key` of the order. */
  async task(name: string): Promise<{ readonly id: string; readonly order: OrderMessage }> {
    const order = await this.until(name, ({ tasks }) => tasks.some(({ type }) => type === 'make_key'));
    const task = order.tasks.find(({ type }) => type === 'make_key');
    return { id: task?.type === 'make_key' ? task.id : '', order };
  }

  seal(order: string, key: MadeKey, receivers: readonly SpecAgent[]): SealedKey[] {
    return receivers.map((receiver) =>
      sealKey({
        pkcs8: key.pkcs8,
        binding: {
          cluster: this.cluster.name,
          order,
          spkiSha256: key.spkiSha256,
          sender: this.id,
          receiver: receiver.id,
        },
        receiverSealingKey: rawPublicKey(receiver.sealing),
        senderIdentityPrivateKey: this.identity,
      }),
    );
  }

  /** Responds to a task. */
  async submit(
    order: string,
    task: string,
    key: MadeKey,
    others: readonly SpecAgent[] = [],
  ): Promise<ReceivedResponse> {
    const keys = this.seal(order, key, others);
    return await this.post(agentPaths.csr(order), { task, csr: key.csr, keys });
  }

  report(
    installations: readonly object[],
    more: object = {},
    number = (this.#reports += 1),
  ): Promise<ReceivedResponse> {
    return this.post(agentPaths.reports, {
      number,
      sent_at: '2026-11-24T12:00:00Z',
      agent: { version: '1.0.1', platform: 'linux x64', problem: null },
      installations,
      ...more,
    });
  }
}

export const installationOf = (order: string, state: string, sha256: string | null, point = 'nginx') => ({
  order,
  point,
  state,
  certificate_sha256: sha256,
  served: [],
  since: '2026-11-24T12:00:00Z',
  problem: null,
});

/** 32 random bytes in hexadecimal. */
export const randomHash = () => randomBytes(32).toString('hex');
