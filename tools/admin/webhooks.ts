import { randomBytes, randomInt } from 'node:crypto';
import {
  maxPreviousSecrets,
  maxWebhookEndpoints,
  WebhookDeliveries,
  type WebhookEndpoint,
  WebhookEndpoints,
} from '@certwright/delivery';
import { Transactions } from '@certwright/core-schema';
import type { SealingKeys } from '@certwright/sealing';
import {
  credentialsContext,
  defaultEvents,
  type EndpointUrl,
  type EventSelector,
  eventSelectors,
  readEndpointUrl,
  readEvents,
  secretContext,
  signingSecret,
  signingSecretBytes,
  testEvent,
} from '@certwright/webhooks';
import { Command } from 'commander';
import type { DataSource } from 'typeorm';
import { existingAccount } from './accounts';
import { sealingKeysOf } from './sealing-keys';
import type { WithDatabase } from './with-database';

export function webhookCommands(withDatabase: WithDatabase): Command {
  const webhook = new Command('webhook').description(
    'webhooks of accounts; secrets are stored encrypted (SEALING_KEYS)',
  );
  webhook
    .command('list')
    .description('list the webhooks of an account: id, state, URL, description, events')
    .requiredOption('--account <id>', 'the account')
    .action(async ({ account }: { account: string }) => {
      await withDatabase(async (database) => {
        const accountId = await existingAccount(database, account);
        for (const endpoint of await new WebhookEndpoints(database).ofAccount(accountId))
          console.log(lineOf(endpoint));
      });
    });
  webhook
    .command('create <url>')
    .description(
      'add a webhook; prints its id and, only once, its secret. The URL may contain user and password',
    )
    .requiredOption('--account <id>', 'the account')
    .option('--description <text>', 'its description', '')
    .option('--events <names>', `separated by commas, of: ${eventSelectors.join(', ')}`, defaultEvents.join())
    .action(async (url: string, { account, description, events: names }: CreateOptions) => {
      const events = selectionOf(names);
      const sealing = await sealingKeys();
      await withDatabase(async (database) => {
        const accountId = await existingAccount(database, account);
        const { id, secret } = await createWebhook(database, sealing, {
          accountId,
          url,
          description,
          events,
        });
        console.log(`${id}\t${secret}\t(shown once)`);
      });
    });
  addStateCommands(webhook, withDatabase);
  addSigningCommands(webhook, withDatabase);
  return webhook;
}

interface CreateOptions {
  readonly account: string;
  readonly description: string;
  readonly events: string;
}

/** @throws Error when one of them is not an event */
function selectionOf(names: string): readonly EventSelector[] {
  const reading = readEvents(names.split(',').map((name) => name.trim()));
  if ('faults' in reading) throw new Error(`events: ${reading.faults.join(' ')}`);
  return reading.value;
}

function addStateCommands(webhook: Command, withDatabase: WithDatabase): void {
  for (const enabled of [true, false]) {
    const verb = enabled ? 'enable' : 'disable';
    webhook
      .command(`${verb} <webhook>`)
      .description(enabled ? 'enable a webhook again' : 'disable a webhook; waiting deliveries are not sent')
      .action(async (text: string) => {
        await withDatabase(async (database) => {
          const { id, accountId } = await existingWebhook(database, text);
          await new Transactions(database).run(
            async (tx) => await new WebhookEndpoints(database).update(tx, accountId, id, { enabled }),
          );
          console.log(`webhook ${id}: ${verb}d`);
        });
      });
  }
  webhook
    .command('events <webhook> <names>')
    .description('set the events that are sent to a webhook, separated by commas')
    .action(async (text: string, names: string) => {
      const events = selectionOf(names);
      await withDatabase(async (database) => {
        const { id, accountId } = await existingWebhook(database, text);
        await new Transactions(database).run(
          async (tx) => await new WebhookEndpoints(database).update(tx, accountId, id, { events }),
        );
        console.log(`webhook ${id}: ${events.join()}`);
      });
    });
  webhook
    .command('delete <webhook>')
    .description('remove a webhook, its deliveries and their log')
    .action(async (text: string) => {
      await withDatabase(async (database) => {
        const { id, accountId } = await existingWebhook(database, text);
        await new Transactions(database).run(
          async (tx) => await new WebhookEndpoints(database).delete(tx, accountId, id),
        );
        console.log(`webhook ${id}: deleted`);
      });
    });
}

function addSigningCommands(webhook: Command, withDatabase: WithDatabase): void {
  webhook
    .command('rotate <webhook>')
    .description(
      'create a new secret; prints it once. Each previous one also signs for 24 hours from its rotation',
    )
    .action(async (text: string) => {
      const sealing = await sealingKeys();
      await withDatabase(async (database) => {
        console.log(`${await rotateSecret(database, sealing, text)}\t(shown once)`);
      });
    });
  webhook
    .command('test <webhook>')
    .description('send a test event; prints the id of the delivery')
    .action(async (text: string) => {
      await withDatabase(async (database) => console.log(await sendTest(database, text)));
    });
}

function lineOf({
  id,
  enabled,
  disabledReason,
  url,
  credentialsSealed,
  description,
  events,
}: WebhookEndpoint): string {
  const state = enabled ? 'enabled' : disabledReason === null ? 'disabled' : `disabled (${disabledReason})`;
  const shownUrl = credentialsSealed === null ? url : `${url} (with credentials)`;
  return [id, state, shownUrl, description || '-', events.join()].join('\t');
}

export interface WantedWebhook {
  readonly accountId: string;
  readonly url: string;
  readonly description: string;
  /** Absent: the default. */
  readonly events?: readonly EventSelector[];
}

/** @returns also the secret, which cannot be read again later */
export async function createWebhook(
  database: DataSource,
  sealing: SealingKeys,
  { accountId, url: text, description, events }: WantedWebhook,
): Promise<{ readonly id: string; readonly secret: string }> {
  const { url, credentials } = splitUrl(text);
  // Positive, random, and exact as a JSON number.
  const id = String(randomInt(1, 2 ** 48 - 1));
  const secret = freshSecret();
  const created = await new Transactions(database).run(
    async (tx) =>
      await new WebhookEndpoints(database).create(tx, {
        id,
        accountId,
        url,
        credentialsSealed: sealCredentials(sealing, id, credentials),
        secretSealed: sealSecret(sealing, id, secret),
        description,
        enabled: true,
        ...(events === undefined ? {} : { events }),
      }),
  );
  if (created === null)
    throw new Error(`Account ${accountId} has ${maxWebhookEndpoints} webhooks, the maximum.`);
  return { id, secret };
}

/** @returns the new secret */
async function rotateSecret(database: DataSource, sealing: SealingKeys, text: string): Promise<string> {
  const { id, accountId } = await existingWebhook(database, text);
  const secret = freshSecret();
  const sealed = sealSecret(sealing, id, secret);
  const rotated = await new Transactions(database).run(
    async (tx) => await new WebhookEndpoints(database).rotateSecret(tx, accountId, id, sealed),
  );
  if (rotated === null) throw new Error(`There is no webhook ${id}.`);
  if ('rotatableAt' in rotated)
    throw new Error(
      `Webhook ${id} has ${maxPreviousSecrets} previous secrets that still sign. ` +
        `Rotate again after ${rotated.rotatableAt.toISOString().slice(0, 19)}Z, when the oldest of them ends.`,
    );
  return secret;
}

/** @returns the id of the delivery */
export async function sendTest(database: DataSource, text: string): Promise<string> {
  const { id, accountId } = await existingWebhook(database, text);
  const deliveryId = `msg_${randomBytes(20).toString('base64url')}`;
  const created_at = `${new Date().toISOString().slice(0, 19)}Z`;
  const message = 'A test of this webhook; nothing has changed.';
  const sent = await new Transactions(database).run(
    async (tx) =>
      await new WebhookDeliveries(database).enqueue(tx, {
        deliveryId,
        endpointId: id,
        accountId,
        planId: null,
        version: 0,
        event: testEvent,
        body: JSON.stringify({ event: 'test', webhook_id: Number(id), created_at, message }),
      }),
  );
  if (!sent) throw new Error(`Webhook ${id} is disabled: enable it first.`);
  return deliveryId;
}

/** @throws Error when it does not exist */
async function existingWebhook(
  database: DataSource,
  text: string,
): Promise<{ readonly id: string; readonly accountId: string }> {
  if (!/^[1-9][0-9]{0,15}$/.test(text))
    throw new Error(`"${text}" is not a webhook id: see \`webhook list\`.`);
  const [row] = await database.query<[{ id: string; accountId: string }?]>(
    `SELECT id, account_id AS "accountId" FROM webhook_endpoint WHERE id = $1`,
    [text],
  );
  if (row === undefined) throw new Error(`There is no webhook ${text}.`);
  return row;
}

/** Checks the syntax only; the delivery reports problems of the host. */
function splitUrl(text: string): EndpointUrl {
  const reading = readEndpointUrl(text);
  if ('fault' in reading) throw new Error(`The URL ${reading.fault}.`);
  return reading.value;
}

function freshSecret(): string {
  return signingSecret(randomBytes(signingSecretBytes));
}

/** Length of a nonce of the sealing keys. */
const nonceBytes = 12;

function sealSecret(keys: SealingKeys, id: string, secret: string): Buffer {
  return keys.seal(secret, secretContext(id), randomBytes(nonceBytes));
}

function sealCredentials(keys: SealingKeys, id: string, credentials: string | null): Buffer | null {
  return credentials === null
    ? null
    : keys.seal(credentials, credentialsContext(id), randomBytes(nonceBytes));
}

const sealingKeys = async (): Promise<SealingKeys> => await sealingKeysOf('SEALING_KEYS', 'sealing.keys');
