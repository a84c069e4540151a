import { Ledger } from '@certwright/billing';
import { Transactions } from '@certwright/core-schema';
import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import type { Chance } from '../chance';
import type { Processes } from '../platform/processes';
import type { TakenMail } from '../world/mail-server';
import type { StandingRecords } from '../world/standing-records';
import type { SimulatedAccount } from './accounts';
import { certificationRequest, pemOf } from './certification-request';
import type { ClientResponse, Client } from './client';
import type { UserAction, PlannedAction } from './user-actions';
import { begin, end, type OrderKind, type SimulatedOrder } from './order';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Hundredths of a US dollar, per term and name. */
export const priceCents = 1_000;

export interface UsersPorts {
  readonly processes: Processes;
  /** The database as the owner of its tables. */
  readonly operator: DataSource;
  readonly client: Client;
  readonly records: StandingRecords;
  readonly auditor: Pool;
  readonly chance: Chance;
  nowMs(): number;
}

/** All users of the platform. They act through its APIs, and remember their requests. */
export class Users {
  readonly orders: SimulatedOrder[] = [];
  readonly counts = { actions: 0, refused: 0 };
  private payIns: { atMs: number; account: SimulatedAccount }[] = [];
  private readonly certs = new Map<string, number>();

  constructor(
    private readonly ports: UsersPorts,
    private readonly accounts: readonly SimulatedAccount[],
    private readonly kinds: readonly OrderKind[],
  ) {
    for (const [number, kind] of kinds.entries()) {
      if (kind === 'v3') continue;
      const { id } = this.accountOf(number);
      this.certs.set(id, (this.certs.get(id) ?? 0) + 1);
    }
  }

  /** Enough for the first terms of most orders; users pay more after a refusal or a mail. */
  async payInAtFirst(): Promise<void> {
    for (const account of this.accounts) {
      const paidOrders = this.certs.get(account.id) ?? 0;
      if (paidOrders > 0) await this.payIn(account, Math.ceil(2.5 * paidOrders) * priceCents);
    }
  }

  /** Owners pay days after a mail. */
  onMail({ kind, accountId, createdMs, messageId }: TakenMail): void {
    if (kind !== 'renewal-unpaid') return;
    const account = this.accounts.find(({ id }) => id === accountId);
    if (account === undefined || account.unpaid.some(({ to }) => to === Infinity)) return;
    begin(account.unpaid, createdMs - hourMs);
    const { chance, nowMs } = this.ports;
    this.payIns.push({ atMs: nowMs() + chance.between(1, 12, 'pays', messageId) * dayMs, account });
  }

  async payDebts(): Promise<void> {
    const now = this.ports.nowMs();
    const due = this.payIns.filter(({ atMs }) => atMs <= now);
    this.payIns = this.payIns.filter(({ atMs }) => atMs > now);
    for (const { account } of due) {
      await this.payIn(account, 6 * (this.certs.get(account.id) ?? 1) * priceCents);
      end(account.unpaid, now);
      // A certificate that expired meanwhile is replaced only on request.
      const own = this.orders.filter((order) => order?.account === account && order.kind !== 'v3');
      for (const order of own) await this.recover(order);
    }
  }

  async do({ order: number, action }: PlannedAction): Promise<void> {
    if (action === 'create') {
      this.counts.actions += 1;
      return await this.create(number);
    }
    const order = this.orders[number];
    if (order === undefined || order.deletedMs !== null) return;
    this.counts.actions += 1;
    await this.actions[action](order);
  }

  private accountOf(number: number): SimulatedAccount {
    const account = this.accounts[number % this.accounts.length];
    if (account === undefined) throw new Error('there is no account');
    return account;
  }

  private readonly actions: Readonly<
    Record<Exclude<UserAction, 'create'>, (order: SimulatedOrder) => Promise<void>>
  > = {
    rekey: async (order) => await this.rekey(order, 'rekey'),
    rename: async (order) => {
      const extra = `v${this.ports.nowMs() / hourMs}.${order.name}`;
      const dnsNames = order.dnsNames.length > 2 ? order.dnsNames.slice(0, 2) : [...order.dnsNames, extra];
      const request = certificationRequest(dnsNames);
      const body = { dns_names: dnsNames, csr: request.der.toString('base64') };
      await this.modify(order, body, 'rename', () => Object.assign(order, { dnsNames, request }));
    },
    revoke: async (order) => {
      await this.revoke(order, 'superseded');
    },
    compromise: async (order) => {
      if (await this.revoke(order, 'keyCompromise')) await this.rekey(order, 'compromise');
    },
    pause: async (order) => {
      await this.modify(order, { paused: true }, 'pause', () => {
        order.paused = true;
        begin(order.excuses, this.ports.nowMs(), 'paused');
      });
    },
    resume: async (order) => {
      await this.modify(order, { paused: false }, 'resume', () => {
        order.paused = false;
        end(order.excuses, this.ports.nowMs(), 'paused');
      });
    },
    'stop renewal': async (order) => {
      await this.modify(order, { auto_renew: false }, 'stop renewal', () => {
        order.autoRenew = false;
        begin(order.excuses, this.ports.nowMs(), 'not to be renewed');
      });
    },
    'renew again': async (order) => {
      await this.modify(order, { auto_renew: true }, 'renew again', () => {
        order.autoRenew = true;
        end(order.excuses, this.ports.nowMs(), 'not to be renewed');
      });
      await this.recover(order);
    },
    mute: async (order) => {
      await this.modify(order, { muted: true }, 'mute', () => {
        order.muted = true;
        begin(order.mutes, this.ports.nowMs());
      });
    },
    unmute: async (order) => {
      await this.modify(order, { muted: false }, 'unmute', () => {
        order.muted = false;
        end(order.mutes, this.ports.nowMs());
      });
    },
    'record vanishes': async (order) => {
      this.ports.records.vanish(order.dnsNames);
      order.recordMissingSince = this.ports.nowMs();
      begin(order.excuses, this.ports.nowMs(), 'not approved');
      await Promise.resolve();
    },
    'record returns': async (order) => {
      this.ports.records.restoreAll(order.name);
      order.recordMissingSince = null;
      end(order.excuses, this.ports.nowMs(), 'not approved');
      await this.recover(order);
    },
    delete: async (order) => {
      await this.call(order, { method: 'DELETE', url: pathOf(order) });
      order.deletedMs = this.ports.nowMs();
    },
    reissue: async (order) => {
      // An object with a pending instance, or without an active one, cannot be reissued.
      if ((await this.open(order)) || !(await this.hasCurrent(order))) return;
      const request = certificationRequest(order.dnsNames);
      await this.modify(order, { csr: pemOf(request) }, 'rekey', () => Object.assign(order, { request }));
      const { status } = await this.paying(order, { method: 'POST', url: `${pathOf(order)}/reissue` });
      if (status === 200) this.demand(order, 'reissue');
      else this.counts.refused += 1;
    },
    'revoke others': async (order) => {
      await this.call(order, { method: 'POST', url: `${pathOf(order)}/revoke` });
    },
  };

  private async create(number: number): Promise<void> {
    const { nowMs, auditor } = this.ports;
    const name = `o${number}.example.com`;
    const dnsNames = [name, `www.${name}`];
    const request = certificationRequest(dnsNames);
    const kind = this.kinds[number] ?? 'v3';
    const order: SimulatedOrder = {
      ...{ number, kind, account: this.accountOf(number), name, planId: '', dnsNames, request },
      ...{ createdMs: nowMs(), deletedMs: null, paused: false, autoRenew: true, muted: false },
      ...{ recordMissingSince: null, demands: [], excuses: [], revoked: [], mutes: [] },
    };
    if (kind === 'v2') {
      const body = { csr: pemOf(request), approval_method: 'dns', auto_renew: true };
      expectStatus(200, await this.call(order, { method: 'POST', url: pathOf(order), body }));
      expectStatus(200, await this.paying(order, { method: 'POST', url: `${pathOf(order)}/buy` }));
    } else {
      const product = kind === 'v3' ? 'free_ca' : 'paid_ca';
      const body = { name, dns_names: dnsNames, csr: request.der.toString('base64'), product };
      expectStatus(201, await this.paying(order, { method: 'POST', url: '/api/v3/orders', body }));
    }
    const table = kind === 'v2' ? 'cert_object_v2 WHERE cn' : 'order_v3 WHERE name';
    const { rows } = await auditor.query<{ plan_id: string }>(`SELECT plan_id FROM ${table} = $1`, [name]);
    order.planId = rows[0]?.plan_id ?? '';
    this.orders[number] = order;
    this.demand(order, 'create');
  }

  private async rekey(order: SimulatedOrder, why: string): Promise<void> {
    const request = certificationRequest(order.dnsNames);
    const body = { csr: request.der.toString('base64') };
    await this.modify(order, body, why, () => Object.assign(order, { request }));
  }

  /**
   * Every effective modification of a v3 order leads to a certificate, unless it is paused, or buys nothing and nothing is
   * paid; a modification of a v2 object does not.
   */
  private async modify(order: SimulatedOrder, body: object, why: string, done: () => void): Promise<void> {
    const { status, json } = await this.paying(order, { method: 'POST', url: pathOf(order), body });
    if (status !== 200) throw new Error(`${why} of ${order.name}: ${status} ${JSON.stringify(json)}`);
    done();
    if (order.kind === 'v2' || order.paused) return;
    if (buyNothing.has(why) && order.kind === 'v3-paid' && !(await this.isPaid(order))) return;
    this.demand(order, why);
  }

  private async isPaid({ planId, dnsNames }: SimulatedOrder): Promise<boolean> {
    const { rowCount } = await this.ports.auditor.query(
      `SELECT 1 FROM plan WHERE id = $1 AND paid_through > now() AND paid_names >= $2`,
      // The first name and its `www.` count as one.
      [planId, dnsNames.length - 1],
    );
    return rowCount === 1;
  }

  private async revoke(order: SimulatedOrder, reason: string): Promise<boolean> {
    const { json } = await this.call(order, { method: 'GET', url: `${pathOf(order)}?expand=current_cert` });
    const certificateId = json.current_cert?.id;
    if (certificateId === undefined) return false;
    const url = `${pathOf(order)}/certs/${certificateId}/revoke`;
    expectStatus(200, await this.call(order, { method: 'POST', url, body: { reason } }));
    order.revoked.push({ certificateId: String(certificateId), atMs: this.ports.nowMs(), reason });
    if (reason === 'superseded' && order.autoRenew && !order.paused) this.demand(order, 'revoke');
    return true;
  }

  /** Requests a certificate for an order that has neither a certificate nor an open issuance. */
  private async recover(order: SimulatedOrder): Promise<void> {
    if (order.deletedMs !== null || order.paused || order.recordMissingSince !== null) return;
    if (!order.autoRenew) return;
    if ((await this.hasCurrent(order)) || (await this.open(order))) return;
    if (order.kind !== 'v2') return await this.rekey(order, 'recover');
    const { status } = await this.paying(order, { method: 'POST', url: `${pathOf(order)}/buy` });
    if (status === 200) this.demand(order, 'recover');
  }

  private demand(order: SimulatedOrder, why: string): void {
    const { dnsNames, request } = order;
    order.demands.push({ atMs: this.ports.nowMs(), why, dnsNames, spkiSha256: request.spkiSha256 });
  }

  private async hasCurrent({ planId }: SimulatedOrder): Promise<boolean> {
    const { rowCount } = await this.ports.auditor.query(
      `SELECT 1 FROM certificate WHERE plan_id = $1 AND is_current AND revoked_at IS NULL AND not_after >= now()`,
      [planId],
    );
    return rowCount === 1;
  }

  private async open({ planId }: SimulatedOrder): Promise<boolean> {
    const { rowCount } = await this.ports.auditor.query(
      `SELECT 1 FROM issuance WHERE plan_id = $1 AND state = 'open'`,
      [planId],
    );
    return (rowCount ?? 0) > 0;
  }

  /** Pays and repeats the request when the balance is insufficient. */
  private async paying(
    order: SimulatedOrder,
    request: Parameters<Client['call']>[2],
  ): Promise<ClientResponse> {
    const response = await this.call(order, request);
    if (response.status !== 402) return response;
    await this.payIn(order.account, 3 * order.dnsNames.length * priceCents);
    return await this.call(order, request);
  }

  private async call(order: SimulatedOrder, request: Parameters<Client['call']>[2]): Promise<ClientResponse> {
    const { orders, certs } = this.ports.processes;
    return await this.ports.client.call(order.kind === 'v2' ? certs : orders, order.account, request);
  }

  /** Done by the operator. */
  private async payIn(account: SimulatedAccount, cents: number): Promise<void> {
    const { operator } = this.ports;
    const booking = {
      accountId: account.id,
      kind: 'payment',
      cents,
      currency: 'USD',
      note: 'paid in',
    } as const;
    await new Transactions(operator).run(async (tx) => await new Ledger(operator).book(tx, booking));
    account.payments.push(cents);
  }
}

/** Modifications that never buy a term or names. */
const buyNothing: ReadonlySet<string> = new Set(['mute', 'unmute', 'stop renewal']);

const pathOf = ({ kind, name }: SimulatedOrder) =>
  kind === 'v2' ? `/api/v2/certs/${name}` : `/api/v3/orders/${name}`;

function expectStatus(expected: number, { status, json }: ClientResponse): void {
  if (status !== expected) throw new Error(`${status} instead of ${expected}: ${JSON.stringify(json)}`);
}
