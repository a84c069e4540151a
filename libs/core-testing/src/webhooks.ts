import { randomBytes, randomInt } from 'node:crypto';
import { WebhookDeliveries } from '@certwright/delivery';
import { WebhookEndpoints } from '@certwright/delivery';
import { WebhookLog } from '@certwright/delivery';
import type { CoreDatabaseFixture } from './core-database';

/** The repositories of webhooks over a spec's database, and short ways to fill it. */
export class WebhookFixture {
  readonly endpoints: WebhookEndpoints;
  readonly deliveries: WebhookDeliveries;
  readonly log: WebhookLog;

  constructor(protected readonly core: CoreDatabaseFixture) {
    const { database } = core;
    this.endpoints = new WebhookEndpoints(database);
    this.deliveries = new WebhookDeliveries(database);
    this.log = new WebhookLog(database);
  }

  /** @param events absent: the default */
  async endpoint(
    accountId: string,
    events?: Parameters<WebhookEndpoints['create']>[1]['events'],
  ): Promise<string> {
    const id = String(randomInt(1, 2 ** 47));
    await this.core.account(accountId);
    await this.core.transactions.run(
      async (tx) =>
        await this.endpoints.create(tx, {
          id,
          accountId,
          url: 'https://hooks.example.com/certs',
          credentialsSealed: null,
          secretSealed: Buffer.from('sealed'),
          description: '',
          enabled: true,
          ...(events === undefined ? {} : { events }),
        }),
    );
    return id;
  }

  /** @returns the delivery's id; null when nothing was put on its way */
  async enqueue(
    accountId: string,
    endpointId: string,
    planId: string | null,
    version: number,
  ): Promise<string | null> {
    const deliveryId = `msg_${randomBytes(20).toString('base64url')}`;
    const delivery = {
      deliveryId,
      endpointId,
      accountId,
      planId,
      version,
      event: 'spec',
      body: `{"v":${version}}`,
    };
    const queued = await this.core.transactions.run(
      async (tx) => await this.deliveries.enqueue(tx, delivery),
    );
    return queued ? deliveryId : null;
  }

  async plan(accountId: string): Promise<string> {
    await this.core.account(accountId);
    return (await this.core.plan(accountId, ['a.example.com'])).planId;
  }

  async stateOf(id: string | null): Promise<string | undefined> {
    const [row]: { state: string }[] = await this.core.database.query(
      `SELECT state FROM webhook_delivery WHERE id = $1`,
      [id],
    );
    return row?.state;
  }
}
