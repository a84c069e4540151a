import { readFile, writeFile } from 'node:fs/promises';
import {
  type ClusterKey,
  clusterKeyFromSeed,
  decodeFixed,
  encodeBase64url,
  joinString,
  keyBytes,
  newClusterKey,
  parseJoinString,
} from '@certwright/agent-contract';
import {
  type Cluster,
  ClusterAgents,
  ClusterEnrolments,
  Clusters,
  maxActiveEnrolments,
  objectNameFault,
} from '@certwright/accounts';
import { Transactions } from '@certwright/core-schema';
import { Command } from 'commander';
import type { DataSource } from 'typeorm';
import { existingAccount } from './accounts';
import { integer } from './option-values';
import { readSecret } from './provider-credentials';
import type { WithDatabase } from './with-database';

interface OfAccount {
  readonly account: string;
}

interface EnrolmentOptions {
  readonly uses: number;
  readonly expiresIn: number;
}

const hourS = 3_600;
const maxExpiryS = 30 * 24 * hourS;
const rekeySpreadS = hourS;
/** Rows of one statement of a list. */
const pageSize = 500;

export function clusterCommands(withDatabase: WithDatabase): Command {
  const cluster = new Command('cluster').description('groups of agents that manage the keys of orders');
  addClusterCommands(cluster, withDatabase);
  addEnrolmentCommands(cluster, withDatabase);
  addAgentCommands(cluster, withDatabase);
  addOfflineCommands(cluster);
  return cluster;
}

const ofAccount = (command: Command): Command => command.requiredOption('--account <id>', 'the account');

const withEnrolment = (command: Command): Command =>
  command
    .option('--uses <number>', 'how many hosts can enrol with the join string', integer(1, 1_000), 1)
    .option('--expires-in <seconds>', 'until the join string expires', integer(60, maxExpiryS), hourS);

function addClusterCommands(cluster: Command, withDatabase: WithDatabase): void {
  withEnrolment(ofAccount(cluster.command('create <name>')))
    .description(
      'create a cluster that orders of the account can name; without a key, does nothing if it exists',
    )
    .option(
      '--new-key <file>',
      'create a cluster key, keep its private half in this new file, and print a join string. Only the public half is stored in the database',
    )
    .option('--cluster-key <key>', 'public half of a key that `cluster new-key` made')
    .option('--keep-keys', 'renew certificates with their present keys')
    .action(async (name: string, options: CreateOptions) => {
      const fault = objectNameFault(name);
      if (fault !== null) throw new Error(`The name ${fault}.`);
      if (options.newKey !== undefined && options.clusterKey !== undefined)
        throw new Error('Give either --new-key or --cluster-key.');
      await withDatabase(async (database) => await createCluster(database, name, options));
    });
  ofAccount(cluster.command('list'))
    .description('list the clusters of an account: name, cluster key')
    .action(async ({ account }: OfAccount) => {
      await withDatabase(async (database) => {
        const accountId = await existingAccount(database, account);
        const page = async (after: string | null) =>
          await new Clusters(database).page(accountId, after, pageSize);
        for await (const { name, clusterKey } of allOf(page, ({ name }) => name))
          console.log([name, clusterKey?.toString('base64url') ?? 'no cluster key'].join('\t'));
      });
    });
  ofAccount(cluster.command('delete <name>'))
    .description('remove a cluster that no order names, with its agents and join strings')
    .action(async (name: string, { account }: OfAccount) => {
      await withDatabase(async (database) => {
        const { accountId } = await existingCluster(database, account, name);
        await new Transactions(database).run(async (tx) => {
          const clusters = new Clusters(database);
          await clusters.lock(tx, accountId, name);
          const order = await clusters.firstOrder(tx, { accountId, name });
          if (order !== null) throw new Error(`Orders name the cluster, such as ${order}.`);
          await clusters.remove(tx, { accountId, name });
        });
        console.log(`cluster ${name}: deleted`);
      });
    });
  ofAccount(cluster.command('rekey <name>'))
    .description('replace the keys of all orders of a cluster, spread over an hour')
    .option('--now', 'all at once')
    .action(async (name: string, { account, now = false }: OfAccount & { now?: boolean }) => {
      await withDatabase(async (database) => {
        const found = await existingCluster(database, account, name);
        const orders = await new Transactions(database).run(
          async (tx) => await new Clusters(database).rekey(tx, found, now ? 0 : rekeySpreadS),
        );
        console.log(`cluster ${name}: ${orders} orders get a new key`);
      });
    });
}

interface CreateOptions extends OfAccount, EnrolmentOptions {
  readonly newKey?: string;
  readonly clusterKey?: string;
  readonly keepKeys?: boolean;
}

async function createCluster(database: DataSource, name: string, options: CreateOptions): Promise<void> {
  const accountId = await existingAccount(database, options.account);
  const { newKey: file, clusterKey: given, keepKeys = false } = options;
  const made = file === undefined ? null : newClusterKey();
  const publicKey =
    made?.publicKey ?? (given === undefined ? null : decodeFixed(given, '--cluster-key', keyBytes));
  if (publicKey !== null && (await new Clusters(database).exists(accountId, name)))
    throw new Error(`Account ${accountId} has a cluster ${name} already.`);
  // Before the cluster exists: its key cannot be made again.
  if (made !== null && file !== undefined) await writeSeed(file, made);
  const clusterKey = publicKey && Buffer.from(publicKey);
  const created = await new Transactions(database).run(
    async (tx) =>
      await new Clusters(database).create(tx, { accountId, name, clusterKey, rotateKeys: !keepKeys }),
  );
  if (created === null && publicKey !== null)
    throw new Error(`Account ${accountId} has a cluster ${name} already.`);
  console.log(`cluster ${name} of account ${accountId}`);
  if (made === null || created === null) return;
  const token = await createToken(database, created, options);
  console.log(`${joinString({ token, clusterKeySeed: made.seed })}\t(shown once)`);
}

function addEnrolmentCommands(cluster: Command, withDatabase: WithDatabase): void {
  withEnrolment(ofAccount(cluster.command('enrol <name>')))
    .description('create a join string, with which hosts enrol; prints it once')
    .option(
      '--key-file <file>',
      'file with the private half of the cluster key; it is only part of what is printed',
    )
    .action(async (name: string, options: OfAccount & EnrolmentOptions & { keyFile?: string }) => {
      const key = options.keyFile === undefined ? null : await readSeed(options.keyFile);
      await withDatabase(async (database) => {
        const found = await existingCluster(database, options.account, name);
        assertFits(found, key);
        const token = await createToken(database, found, options);
        console.log(`${joinString({ token, clusterKeySeed: key?.seed ?? null })}\t(shown once)`);
        if (found.clusterKey !== null && key === null)
          console.warn(
            'The cluster has a cluster key: complete the join string with `cluster join-string --key-file <file>` where the key is kept.',
          );
      });
    });
  ofAccount(cluster.command('enrolments <name>'))
    .description('list the join strings of a cluster without their secrets: id, hosts, state, expiry')
    .action(async (name: string, { account }: OfAccount) => {
      await withDatabase(async (database) => {
        const found = await existingCluster(database, account, name);
        const page = async (after: string | null) =>
          await new ClusterEnrolments(database).page(found, after, pageSize);
        for await (const { id, used, uses, revokedAt, isExpired, expiresAt } of allOf(page, ({ id }) => id)) {
          const state =
            revokedAt !== null ? 'revoked' : used >= uses ? 'used up' : isExpired ? 'expired' : 'active';
          console.log([id, `${used}/${uses}`, state, expiresAt.toISOString()].join('\t'));
        }
      });
    });
  ofAccount(cluster.command('revoke-enrolment <name> <id>'))
    .description('revoke a join string; hosts that enrolled with it stay')
    .action(async (name: string, id: string, { account }: OfAccount) => {
      await withDatabase(async (database) => {
        const found = await existingCluster(database, account, name);
        const isKnown =
          /^[1-9][0-9]{0,15}$/.test(id) && (await new ClusterEnrolments(database).revoke(found, id));
        if (!isKnown) throw new Error(`The cluster has no join string ${id}: see \`cluster enrolments\`.`);
        console.log(`join string ${id}: revoked`);
      });
    });
}

function addAgentCommands(cluster: Command, withDatabase: WithDatabase): void {
  ofAccount(cluster.command('agents <name>'))
    .description('list the agents of a cluster: id, host, state, version, platform, last seen, problem')
    .action(async (name: string, { account }: OfAccount) => {
      await withDatabase(async (database) => {
        const found = await existingCluster(database, account, name);
        const page = async (after: string | null) =>
          await new ClusterAgents(database).page(found, after, pageSize);
        for await (const agent of allOf(page, ({ id }) => id))
          console.log(
            [
              ...[agent.id, agent.name, agent.state, agent.version, agent.platform],
              ...[agent.lastSeenAt?.toISOString() ?? 'not seen', agent.problem ?? '-'],
            ]
              .map(printable)
              .join('\t'),
          );
      });
    });
  // An option, because an id may begin with a hyphen.
  ofAccount(cluster.command('remove-agent <name>'))
    .description('remove an agent: its requests are refused within 10 seconds, and it gets no further keys')
    .requiredOption('--agent <id>', 'its id, as `cluster agents` lists it')
    .action(async (name: string, { account, agent: id }: OfAccount & { readonly agent: string }) => {
      await withDatabase(async (database) => {
        const found = await existingCluster(database, account, name);
        const isKnown = await new Transactions(database).run(
          async (tx) => await new ClusterAgents(database).remove(tx, found, id),
        );
        if (!isKnown) throw new Error(`The cluster has no agent ${id}: see \`cluster agents\`.`);
        console.log(`agent ${id}: removed. If its host may be compromised: cluster rekey ${name}`);
      });
    });
}

/** Neither the database nor the network is used. */
function addOfflineCommands(cluster: Command): void {
  cluster
    .command('new-key <file>')
    .description(
      'create a cluster key without a database; prints its public half, and keeps the private half in this new file',
    )
    .action(async (file: string) => {
      const key = newClusterKey();
      await writeSeed(file, key);
      console.log(encodeBase64url(key.publicKey));
    });
  cluster
    .command('join-string')
    .description(
      'complete a join string, or an enrolment token, from standard input with the cluster key; no database is used',
    )
    .requiredOption('--key-file <file>', 'file with the private half of the cluster key')
    .option('--from-file <file>', 'read the join string or token from a file')
    .action(async ({ keyFile, fromFile }: { keyFile: string; fromFile?: string }) => {
      const { seed } = await readSeed(keyFile);
      const given = (await readSecret(fromFile ?? null)).trim();
      const { token } = parseJoinString(given.startsWith('cwj1.') ? given : `cwj1.${given}`);
      console.log(joinString({ token, clusterKeySeed: seed }));
    });
}

async function createToken(
  database: DataSource,
  { accountId, name }: Cluster,
  { uses, expiresIn }: EnrolmentOptions,
): Promise<string> {
  return await new Transactions(database).run(async (tx) => {
    const locked = await new Clusters(database).lock(tx, accountId, name);
    if (locked === null) throw new Error(`The cluster ${name} was deleted.`);
    const created = await new ClusterEnrolments(database).create(tx, locked, { uses, expiresInS: expiresIn });
    if (created === null)
      throw new Error(
        `The cluster has ${maxActiveEnrolments} active join strings, the maximum: revoke those that are not needed.`,
      );
    return created.token;
  });
}

function assertFits({ name, clusterKey }: Cluster, key: ClusterKey | null): void {
  if (key === null) return;
  if (clusterKey === null)
    throw new Error(`The cluster ${name} has no cluster key. Set the public half in the cluster first.`);
  if (!clusterKey.equals(key.publicKey))
    throw new Error(`The file has another key than the cluster ${name}.`);
}

/** Refuses to replace a file: a lost cluster key means that all hosts must enrol again. */
async function writeSeed(file: string, { seed }: ClusterKey): Promise<void> {
  try {
    await writeFile(file, `${encodeBase64url(seed)}\n`, { flag: 'wx', mode: 0o600, flush: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new Error(`${file} exists. Choose another file for the new cluster key.`);
  }
}

async function readSeed(file: string): Promise<ClusterKey> {
  return clusterKeyFromSeed(decodeFixed((await readFile(file, 'utf8')).trim(), file, keyBytes));
}

async function existingCluster(database: DataSource, account: string, name: string): Promise<Cluster> {
  const accountId = await existingAccount(database, account);
  const found = objectNameFault(name) === null ? await new Clusters(database).find(accountId, name) : null;
  if (found === null) throw new Error(`Account ${accountId} has no cluster ${name}: see \`cluster list\`.`);
  return found;
}

async function* allOf<T>(
  page: (after: string | null) => Promise<readonly T[]>,
  keyOf: (row: T) => string,
): AsyncGenerator<T> {
  for (let after: string | null = null; ;) {
    const rows: readonly T[] = await page(after);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageSize) return;
    after = keyOf(last);
  }
}

/** Texts from hosts must not control the terminal. */
function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Cf}]/gu, '\ufffd');
}
