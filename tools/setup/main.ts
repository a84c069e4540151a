import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { readUrlFiles } from '../url-files';
import { ensureSecrets, operatorFile, ownerUrl, type SecretsPlan } from './secrets';

const usage = `Prepares a deployment on one host, for docker/compose.yaml. Every step can be repeated and keeps what exists.

  setup secrets    creates all secrets: one folder per service below SETUP_DIR, and "operator", which no service gets.
                   SETUP_DATA_DIRS (separated by commas) are given to the user of the images
  setup database   creates databases, tables and roles, and at the first time an account with an API key; prints the
                   address, the key and the next command
  setup show       prints the address and the API key again

SETUP_DIR              folder of the secrets; default /secrets
DATABASE_URL           the core database as its owner, without a password: postgres://user@host:port/name
CT_DATABASE_URL        the ct database, likewise
DATABASE_ROLE_PREFIX   prefix of the names of roles; default certwright_
CERTWRIGHT_MODE        sandbox or production
PUBLIC_URL             how callers reach the APIs
CA_PUBLICATION_URL     where the built-in CA is published, as for issuance-worker; in a sandbox only
`;

/** The user of the images. */
const imageUid = 10_001;

interface Account {
  readonly account_id: string;
  readonly api_key: string;
}

function main([step]: readonly string[]): void {
  switch (step) {
    case 'secrets':
      return makeSecrets();
    case 'database':
      return prepareDatabase();
    case 'show':
      return show(plan());
    case '--help':
      return void process.stdout.write(usage);
    default:
      process.stderr.write(step === undefined ? usage : `There is no step "${step}".\n\n${usage}`);
      process.exitCode = 2;
  }
}

function makeSecrets(): void {
  const changed = ensureSecrets(plan(), new Date());
  const folders = (process.env['SETUP_DATA_DIRS'] ?? '').split(',').filter((folder) => folder !== '');
  if (isRoot()) for (const folder of folders) chownSync(folder, imageUid, imageUid);
  console.log(changed.length === 0 ? 'All secrets exist.' : `Created secrets: ${changed.length} files.`);
}

function prepareDatabase(): void {
  const prepared = plan();
  const environment = {
    ...process.env,
    DATABASE_URL: ownerUrl(prepared, prepared.databaseUrl),
    CT_DATABASE_URL: ownerUrl(prepared, prepared.ctDatabaseUrl),
    DATABASE_ROLE_PREFIX: prepared.rolePrefix,
    DATABASE_ROLE_PASSWORDS_DIR: operatorFile(prepared, 'database-passwords'),
  };
  command(['migrate', '--create'], environment, 'inherit');
  // A private CA in production has an offline root: docs/operating.md.
  if (required('CERTWRIGHT_MODE') === 'sandbox') {
    const sealed = {
      BUILT_IN_CA_KEYS: 'sealed',
      CA_ACCOUNT_KEYS_FILE: operatorFile(prepared, 'ca-account.keys'),
    };
    command(['admin', 'ca', 'create-sandbox'], { ...environment, ...sealed }, 'inherit');
  }
  const file = operatorFile(prepared, 'account.json');
  if (!existsSync(file)) {
    // A crash before the file is written leaves an account that has no use; the next run creates another one.
    writeFileSync(file, `${JSON.stringify(createAccount(environment))}\n`, { mode: 0o600 });
  }
  show(prepared);
}

function createAccount(environment: NodeJS.ProcessEnv): Account {
  if (required('CERTWRIGHT_MODE') === 'sandbox') {
    return JSON.parse(command(['admin', 'seed-sandbox', '--json'], environment, 'pipe')) as Account;
  }
  const account_id = command(['admin', 'account', 'create', '--name', 'First account'], environment, 'pipe');
  const key = ['key', 'create', '--account', account_id, '--label', 'first', '--permission', 'Full Access'];
  return { account_id, api_key: command(['admin', ...key], environment, 'pipe') };
}

function show(prepared: SecretsPlan): void {
  const file = operatorFile(prepared, 'account.json');
  if (!existsSync(file)) throw new Error(`${file} is missing: run "setup database" first.`);
  const { account_id, api_key } = JSON.parse(readFileSync(file, 'utf8')) as Account;
  const address = required('PUBLIC_URL');
  console.log(`
Certwright (${required('CERTWRIGHT_MODE')}): ${address}
  documentation   ${address}/api/v3/docs
  account         ${account_id}
  API key         ${api_key}

Next, from the folder of compose.yaml, once all services are healthy:
  docker compose cp tls:/data/caddy/pki/authorities/local/root.crt root.crt
  curl --cacert root.crt -H "Authorization: Bearer ${api_key}" ${address}/api/v3/orders
`);
}

/** Another command of this program. */
function command(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  stdout: 'inherit' | 'pipe',
): string {
  const run = spawnSync(process.execPath, [process.argv[1] ?? '', ...args], {
    env: environment,
    encoding: 'utf8',
    stdio: ['ignore', stdout, 'inherit'],
  });
  if (run.status !== 0) throw new Error(`"${args.slice(0, 3).join(' ')}" failed: see its message above.`);
  return (run.stdout ?? '').trim();
}

function plan(): SecretsPlan {
  readUrlFiles(process.env);
  return {
    folder: process.env['SETUP_DIR'] ?? '/secrets',
    databaseUrl: required('DATABASE_URL'),
    ctDatabaseUrl: required('CT_DATABASE_URL'),
    rolePrefix: process.env['DATABASE_ROLE_PREFIX'] ?? 'certwright_',
    uid: isRoot() ? imageUid : null,
  };
}

const isRoot = (): boolean => process.getuid?.() === 0;

function required(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set.\n\n${usage}`);
  return value;
}

try {
  main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
