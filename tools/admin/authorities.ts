import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import {
  CaAccounts,
  isRolloverSuspended,
} from '../../apps/issuance-worker/src/certificate-authorities/ca-accounts';
import {
  CertificateAuthorities,
  type CertificateAuthorityChange,
} from '../../apps/issuance-worker/src/certificate-authorities/certificate-authorities';
import { CertificateAuthorityEntity } from '@certwright/core-schema';
import type { SealingKeys } from '@certwright/sealing';
import { WaitingIssuances } from '@certwright/ordering';
import { Command } from 'commander';
import type { DataSource } from 'typeorm';
import { type AuthorityOptions, readRoots, withAuthorityOptions } from './authority-options';
import { authorityPresets } from './authority-presets';
import { sealingKeysOf } from './sealing-keys';
import { problemText } from './stored-problem';
import type { WithDatabase } from './with-database';

export function authorityCommands(withDatabase: WithDatabase): Command {
  const authority = new Command('authority').description(
    'CAs with ACME; products list them in order of preference. Changes take effect within 5 seconds',
  );
  addWritingCommands(authority, withDatabase);
  addReadingCommands(authority, withDatabase);
  for (const enabled of [true, false]) {
    const verb = enabled ? 'enable' : 'disable';
    authority
      .command(`${verb} <name>`)
      .description(
        enabled
          ? 'use a CA again, at once'
          : 'order no new certificates at a CA; revocations are still sent to it',
      )
      .action(async (name: string) => {
        await withDatabase(async (database) => {
          const authorities = new CertificateAuthorities(database);
          if (!(await authorities.change(name, { enabled }))) throw missing(name);
          if (enabled) await authorities.markUp(name);
          await new WaitingIssuances(database).reconsider();
          console.log(`authority ${name}: ${verb}d`);
        });
      });
  }
  authority
    .command('roll-account-key <name>')
    .description('have the worker change the key of the account at a CA (see `authority account`)')
    .action(async (name: string) => {
      await withDatabase(async (database) => {
        await existing(database, name);
        if (!(await new CaAccounts(database).requestRollover(name)))
          throw new Error(`There is no valid account at ${name} yet: the first order creates it.`);
        console.log(`authority ${name}: the worker changes the key of the account`);
      });
    });
  return authority;
}

function addWritingCommands(authority: Command, withDatabase: WithDatabase): void {
  withAuthorityOptions(authority.command('add <name>'))
    .description('add a CA; the first order creates the account at it')
    .option('--preset <preset>', `a known CA: ${Object.keys(authorityPresets).join(', ')}`)
    .action(async (name: string, options: AuthorityOptions & { readonly preset?: string }) => {
      await withDatabase(async (database) => await add(database, name, options));
      console.log(`authority ${name}: added`);
    });
  withAuthorityOptions(authority.command('set <name>'))
    .description('change a CA; a list replaces the stored one')
    .action(async (name: string, options: AuthorityOptions) => {
      await withDatabase(async (database) => {
        const row = await existing(database, name);
        const change = await changeOf(name, options);
        if (Object.keys(change).length === 0)
          throw new Error('Nothing to change: see `authority set --help`.');
        await refuseToMove(database, row, change);
        await new CertificateAuthorities(database).change(name, change);
      });
      console.log(`authority ${name}: ${Object.keys(options).join(', ')} set`);
    });
}

function addReadingCommands(authority: Command, withDatabase: WithDatabase): void {
  authority
    .command('list')
    .description('list the CAs: name, state, directory, and their names in CAA records')
    .action(async () => {
      await withDatabase(async (database) => {
        const rows = await database
          .getRepository(CertificateAuthorityEntity)
          .find({ order: { name: 'ASC' } });
        for (const row of rows)
          console.log([row.name, stateOf(row), row.directoryUrl, row.caaDomains.join(',') || '-'].join('\t'));
      });
    });
  authority
    .command('show <name>')
    .description('show the settings of a CA without secrets')
    .action(async (name: string) => {
      await withDatabase(async (database) => {
        const { eabHmacSealed, trustedRoots, ...shown } = await existing(database, name);
        const secrets = {
          eabHmac: eabHmacSealed === null ? null : 'sealed',
          trustedRoots: trustedRoots.length,
        };
        console.log(JSON.stringify({ ...shown, ...secrets }));
      });
    });
  authority
    .command('account <name>')
    .description('show our account at a CA: state, URL, creation time, and whether its key is being changed')
    .action(async (name: string) => {
      await withDatabase(async (database) => {
        await existing(database, name);
        const account = await new CaAccounts(database).ofAuthority(name);
        if (account === null) return console.log('none yet: the first order creates it');
        const { state, accountUrl, createdAt, rolloverDueAt } = account;
        const change = isRolloverSuspended(account)
          ? 'key change suspended: the CA recognizes neither key'
          : 'key is being changed';
        const key = rolloverDueAt === null ? 'key unchanged' : change;
        console.log([state, accountUrl ?? '-', createdAt.toISOString(), key].join('\t'));
      });
    });
}

async function add(
  database: DataSource,
  name: string,
  { preset, ...options }: AuthorityOptions & { readonly preset?: string },
): Promise<void> {
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(name) || name === 'built-in')
    throw new Error('A name has at most 63 lower-case letters, digits and hyphens, and is not "built-in".');
  const known = preset === undefined ? {} : presetOf(preset);
  const { directoryUrl, ...settings }: CertificateAuthorityChange = {
    ...known,
    ...(await changeOf(name, options)),
  };
  if (directoryUrl === undefined) throw new Error('Give --directory or --preset.');
  const created = await new CertificateAuthorities(database).create({ ...settings, name, directoryUrl });
  if (!created) throw new Error(`The authority ${name} already exists: see \`authority set\`.`);
}

function presetOf(preset: string): CertificateAuthorityChange {
  const found = Object.hasOwn(authorityPresets, preset) ? authorityPresets[preset] : undefined;
  if (found !== undefined) return found;
  throw new Error(
    `There is no preset "${preset}". Choose from: ${Object.keys(authorityPresets).join(', ')}.`,
  );
}

async function changeOf(name: string, options: AuthorityOptions): Promise<CertificateAuthorityChange> {
  const { tlsRoots, trustedRoot } = options;
  const roots = trustedRoot && (await Promise.all(trustedRoot.map(readRoots))).flat();
  const change: CertificateAuthorityChange = {
    directoryUrl: options.directory,
    caaDomains: options.caaDomain && [...options.caaDomain],
    allowedHosts: options.allowedHost && [...options.allowedHost],
    contacts: options.contact && [...options.contact],
    tlsRoots: tlsRoots === undefined ? undefined : await pemOf(tlsRoots),
    trustedRoots: roots?.map(({ raw }) => raw),
    preferredRoot: options.preferredRoot === '' ? null : options.preferredRoot,
    limits: options.limits,
    ...(await externalAccountOf(name, options)),
  };
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}

async function externalAccountOf(
  name: string,
  { eabKeyId, eabHmacFile }: AuthorityOptions,
): Promise<CertificateAuthorityChange> {
  if (eabKeyId === undefined && eabHmacFile === undefined) return {};
  if (eabKeyId === '' && eabHmacFile === undefined) return { eabKeyId: null, eabHmacSealed: null };
  if (!eabKeyId || eabHmacFile === undefined)
    throw new Error('Give both --eab-key-id and --eab-hmac-file, or neither.');
  return { eabKeyId, eabHmacSealed: await sealedExternalAccountKey(name, eabHmacFile) };
}

async function pemOf(file: string): Promise<string | null> {
  return file === '' ? null : (await readRoots(file)).map(String).join('');
}

/** An account and its orders belong to one CA, and another directory is another CA. */
async function refuseToMove(
  database: DataSource,
  { name, directoryUrl }: CertificateAuthorityEntity,
  change: CertificateAuthorityChange,
): Promise<void> {
  if (change.directoryUrl === undefined || change.directoryUrl === directoryUrl) return;
  if ((await new CaAccounts(database).ofAuthority(name)) === null) return;
  throw new Error(`There is already an account at ${directoryUrl}: add another authority instead.`);
}

function stateOf({ enabled, downSince, downUntil, problem, outcome }: CertificateAuthorityEntity): string {
  if (!enabled) return 'disabled';
  if (downSince === null || downUntil === null) return 'enabled';
  const reason = problem === null ? 'unknown reason' : problemText(problem, outcome);
  const since = `down since ${downSince.toISOString()}`;
  return `${since}, next probe ${downUntil.toISOString()} (${reason})`;
}

/** @throws Error when it does not exist */
async function existing(database: DataSource, name: string): Promise<CertificateAuthorityEntity> {
  const row = await database.getRepository(CertificateAuthorityEntity).findOneBy({ name });
  if (row === null) throw missing(name);
  return row;
}

const missing = (name: string): Error =>
  new Error(`There is no authority "${name}": see \`authority list\`.`);

/** Length of a nonce of the sealing keys. */
const nonceBytes = 12;
/** The worker requires the same; shorter keys can be guessed. */
const minKeyBytes = 16;

/**
 * The HMAC key of an external account binding (RFC 8555, section 7.3.4), encrypted with keys that the
 * worker has. It is not an argument, because all users of the machine can see arguments.
 *
 * @param file `-` for standard input
 * @throws Error, which never contains the key
 */
async function sealedExternalAccountKey(authority: string, file: string): Promise<Buffer> {
  const keys = await sealingKeysOf('CA_ACCOUNT_KEYS', 'ca-account.keys');
  const given = file === '-' ? await text(process.stdin) : await readFile(file, 'utf8');
  // CAs print base64url, some with padding, some plain base64.
  const bare = given.trim().replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_');
  const bytes = Buffer.from(bare, 'base64url');
  // Decoding skips invalid characters, so the result is encoded again and compared.
  if (bytes.toString('base64url') !== bare || bytes.length < minKeyBytes)
    throw new Error(`The HMAC key is not the base64url of ${minKeyBytes} bytes or more.`);
  return keys.seal(bare, externalContext(authority), randomBytes(nonceBytes));
}

const externalContext = (authority: string): string => `ca-eab:${authority}`;

/** Seals every key of an external account binding with the first of the keys. @returns the names of the CAs */
export async function sealExternalAccountKeysAgain(
  database: DataSource,
  keys: SealingKeys,
): Promise<readonly string[]> {
  return await database.transaction(async (tx) => {
    const rows: { name: string; sealed: Buffer }[] = await tx.query(
      `SELECT name, eab_hmac_sealed AS sealed FROM certificate_authority
       WHERE eab_hmac_sealed IS NOT NULL ORDER BY name FOR UPDATE`,
    );
    for (const { name, sealed } of rows) {
      const key = keys.open(sealed, externalContext(name));
      const fresh = keys.seal(key, externalContext(name), randomBytes(nonceBytes));
      await tx.query(`UPDATE certificate_authority SET eab_hmac_sealed = $2 WHERE name = $1`, [name, fresh]);
    }
    return rows.map(({ name }) => name);
  });
}
