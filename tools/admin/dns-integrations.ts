import type { Gateway } from '@certwright/gateway-client';
import type { CredentialKind, ProviderDescription, Zone } from '@certwright/gateway-contract';
import { type DnsIntegration, DnsIntegrations } from '@certwright/dns-integrations';
import { Transactions } from '@certwright/core-schema';
import { Command } from 'commander';
import type { DataSource } from 'typeorm';
import { existingAccount } from './accounts';
import { withGateway as connected, type WithGateway } from './gateway-connection';
import { createIntegration, freshZones } from './integration-messages';
import { chooseKind, composeCredentials, readSecret } from './provider-credentials';
import type { WithDatabase } from './with-database';

interface CreateOptions {
  readonly account: string;
  readonly description: string;
  readonly type?: string;
  readonly set: readonly string[];
  readonly fromFile?: string;
}

export function dnsIntegrationCommands(
  withDatabase: WithDatabase,
  withGateway: WithGateway = connected,
): Command {
  const integration = new Command('dns-integration').description(
    'DNS providers of accounts, for approval records; credentials are sent encrypted to the DNS gateway',
  );
  addProvidersCommand(integration, withDatabase, withGateway);
  addCreateCommand(integration, withDatabase, withGateway);
  integration
    .command('list')
    .description('list the integrations of an account: id, provider, state, description')
    .requiredOption('--account <id>', 'the account')
    .action(async ({ account }: { account: string }) => {
      await withDatabase(async (database) => {
        const accountId = await existingAccount(database, account);
        for (const each of await integrationsIn(database).ofAccount(accountId)) console.log(lineOf(each));
      });
    });
  integration
    .command('zones <integration>')
    .description('list the zones of an integration as its provider returns them now')
    .action(async (text: string) => {
      await withDatabase(async (database) => {
        const { id, accountId } = await existingIntegration(database, text);
        await withGateway(async (gateway) => printZones(await freshZones(database, gateway, accountId, id)));
      });
    });
  integration
    .command('delete <integration>')
    .description('remove an integration; the worker removes every record that was published through it')
    .action(async (text: string) => {
      await withDatabase(async (database) => {
        const { id, accountId } = await existingIntegration(database, text);
        await new Transactions(database).run(
          async (tx) => await integrationsIn(database).markDeleted(tx, accountId, id),
        );
        console.log(`DNS integration ${id}: deleted`);
      });
    });
  return integration;
}

function addProvidersCommand(
  integration: Command,
  withDatabase: WithDatabase,
  withGateway: WithGateway,
): void {
  integration
    .command('providers')
    .description('list the providers and the credentials that each needs')
    .requiredOption('--account <id>', 'the account; external ids are specific to it')
    .action(async ({ account }: { account: string }) => {
      await withDatabase(async (database) => {
        const accountId = await existingAccount(database, account);
        await withGateway(async (gateway) => {
          const { providers } = await gateway.describe(accountId);
          for (const provider of providers) for (const line of linesOf(provider)) console.log(line);
        });
      });
    });
}

function addCreateCommand(integration: Command, withDatabase: WithDatabase, withGateway: WithGateway): void {
  integration
    .command('create <provider>')
    .description(
      'integrate a provider; prints its id and zones. The secret is read from standard input or a file and encrypted for the gateway: the one missing member, or all members as a JSON object',
    )
    .requiredOption('--account <id>', 'the account')
    .option('--description <text>', 'its description', '')
    .option(
      '--type <type>',
      'bearer, oauth_code or cloud_account (default: the first that the provider supports)',
    )
    .option('--set <name=value>', 'a member that is not secret; may be repeated', collect, [])
    .option('--from-file <file>', 'file with the secret, instead of standard input')
    .action(async (provider: string, options: CreateOptions) => {
      await withDatabase(async (database) => {
        const accountId = await existingAccount(database, options.account);
        await withGateway(async (gateway) => await create(database, gateway, accountId, provider, options));
      });
    });
}

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

async function create(
  database: DataSource,
  gateway: Gateway,
  accountId: string,
  provider: string,
  { description, type, set, fromFile }: CreateOptions,
): Promise<void> {
  const { providers, encryption_key } = await gateway.describe(accountId);
  const described = providers.find(({ name }) => name === provider);
  if (described === undefined) {
    const names = providers.map(({ name }) => name).join(', ');
    throw new Error(`There is no provider "${provider}". Choose from: ${names}.`);
  }
  const kind = chooseKind(described, type);
  const secret = needsSecret(kind) ? await readSecret(fromFile ?? null) : '';
  const credentials = composeCredentials(kind, { set, secret });
  const wanted = { accountId, provider: described.name, description, credentials };
  const made = await createIntegration(database, gateway, encryption_key, wanted);
  console.log(made.id);
  printZones(made.zones);
}

const needsSecret = ({ members }: CredentialKind): boolean => members.some(({ secret }) => secret);

const integrationsIn = (database: DataSource): DnsIntegrations =>
  new DnsIntegrations(database, new Transactions(database));

function linesOf({ name, title, advice, credentials }: ProviderDescription): readonly string[] {
  const kinds = credentials.flatMap((kind) => [
    `  ${kind.type}`,
    ...kind.members.map(
      ({ name: member, meaning, secret, required }) =>
        `    ${member}\t${required ? 'required' : 'optional'}${secret ? ', secret' : ''}\t${meaning}`,
    ),
    ...(kind.authorization_url === null ? [] : [`    authorize at\t${kind.authorization_url}`]),
    ...(kind.principal === null ? [] : [`    grant access to\t${kind.principal}`]),
    ...(kind.external_id === null ? [] : [`    external id\t${kind.external_id}`]),
  ]);
  return [
    `${name}\t${title}`,
    `  ${advice}`,
    ...(kinds.length === 0 ? ['  (not configured by the operator of the gateway)'] : kinds),
  ];
}

function lineOf({ id, provider, state, problem, description }: DnsIntegration): string {
  const shown = problem === null ? state : `${state} (${problem})`;
  return [id, provider, shown, description || '-'].join('\t');
}

function printZones(zones: readonly Zone[] | null): void {
  for (const { name, id } of zones ?? []) console.log(`${name}\t${id}`);
  if (zones === null) console.log('(the zones could not be listed yet; the worker tries again)');
}

/** @throws Error when it does not exist */
async function existingIntegration(
  database: DataSource,
  text: string,
): Promise<{ readonly id: string; readonly accountId: string }> {
  if (!/^[1-9][0-9]{0,15}$/.test(text))
    throw new Error(`"${text}" is not the id of a DNS integration: see \`dns-integration list\`.`);
  const [row] = await database.query<[{ id: string; accountId: string }?]>(
    `SELECT id, account_id AS "accountId" FROM dns_integration WHERE id = $1 AND deleted_at IS NULL`,
    [text],
  );
  if (row === undefined) throw new Error(`There is no DNS integration ${text}.`);
  return row;
}
