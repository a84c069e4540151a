import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { ensureGatewayKeys } from '../gateway-keys/gateway-keys';

/** The folder of all secrets: one sub-folder per service, which is mounted there and nowhere else. */
export interface SecretsPlan {
  readonly folder: string;
  /** Owner of the tables, without its password; the roles of processes connect to the same databases. */
  readonly databaseUrl: string;
  readonly ctDatabaseUrl: string;
  readonly rolePrefix: string;
  /** Owner of the files of processes, as in the images; null: the current user. */
  readonly uid: number | null;
}

/** Secrets of the operator, from which those of the processes are derived. Mounted into no process. */
const operator = 'operator';
export const operatorFile = ({ folder }: Pick<SecretsPlan, 'folder'>, ...names: readonly string[]): string =>
  path.join(folder, operator, ...names);

/** Who needs what: the databases of a process, and whether it uses Redis, seals, or calls the gateway. */
interface Needs {
  readonly core?: true;
  readonly ct?: true;
  readonly redis?: true;
  /** Secrets of webhooks and API keys are sealed with them. */
  readonly sealing?: true;
  /** Seals the keys of accounts at CAs. */
  readonly caAccounts?: true;
  readonly gatewayClient?: true;
  readonly gatewayServer?: true;
}

export const needs = {
  'orders-v3': { core: true, redis: true, sealing: true, gatewayClient: true },
  'certs-v2': { core: true, redis: true, sealing: true },
  'ct-search': { core: true, ct: true, redis: true },
  monitoring: { core: true, ct: true, redis: true },
  'issuance-worker': { core: true, redis: true, caAccounts: true, gatewayClient: true },
  'monitoring-worker': { core: true, ct: true, redis: true },
  'approval-responder': { core: true, redis: true },
  'dns-gateway': { gatewayServer: true },
  notifier: { core: true, redis: true, sealing: true },
  prober: { redis: true },
  'ct-ingest': { ct: true },
} satisfies Readonly<Record<string, Needs>>;

/**
 * Creates what is missing and keeps what exists, so that it can be repeated after a crash and at each start. Certificates of
 * the gateway are replaced when a third of their lifetime is left.
 *
 * @returns the files that were created or have changed, from the folder
 */
export function ensureSecrets(plan: SecretsPlan, now: Date): readonly string[] {
  const changed: string[] = [];
  makeFolder(plan.folder, 0o700, null);
  makeFolder(operatorFile(plan), 0o700, null);
  makeFolder(operatorFile(plan, 'database-passwords'), 0o700, null);
  const own = (name: string, make: () => string): string => {
    const file = operatorFile(plan, name);
    if (!existsSync(file)) {
      write(file, make(), 0o600, null);
      changed.push(path.relative(plan.folder, file));
    }
    return readFileSync(file, 'utf8');
  };
  for (const file of ensureGatewayKeys(operatorFile(plan, 'gateway'), now))
    changed.push(path.join(operator, 'gateway', file));
  const derived = {
    redisPassword: own('redis-password', password),
    databasePassword: own('database-password', password),
    sealingKeys: own('sealing.keys', sealingKey),
    caAccountKeys: own('ca-account.keys', sealingKey),
  };
  for (const [process, each] of Object.entries(needs) as [string, Needs][]) {
    const rolePassword =
      each.core || each.ct ? own(path.join('database-passwords', process), password).trim() : '';
    changed.push(...writeAll(plan, process, filesOf(plan, process, each, rolePassword, derived), 0o400));
  }
  // The images of PostgreSQL and Redis read these as users of their own; the folder above them is closed.
  changed.push(...writeAll(plan, 'postgres', { password: derived.databasePassword }, 0o444));
  changed.push(...writeAll(plan, 'redis', { 'redis.conf': redisConf(derived.redisPassword.trim()) }, 0o444));
  return changed;
}

/** The URL of the owner of the tables, with its password. */
export function ownerUrl(plan: SecretsPlan, url: string): string {
  const own = new URL(url);
  own.password = readFileSync(operatorFile(plan, 'database-password'), 'utf8').trim();
  return own.href;
}

interface Derived {
  readonly redisPassword: string;
  readonly sealingKeys: string;
  readonly caAccountKeys: string;
}

function filesOf(
  plan: SecretsPlan,
  process: string,
  each: Needs,
  rolePassword: string,
  { redisPassword, sealingKeys, caAccountKeys }: Derived,
): Readonly<Record<string, string>> {
  const gateway = (name: string): string => readFileSync(operatorFile(plan, 'gateway', name), 'utf8');
  const asRole = (url: string): string => {
    const own = new URL(url);
    own.username = `${plan.rolePrefix}${process.replaceAll('-', '_')}`;
    own.password = rolePassword;
    return `${own.href}\n`;
  };
  return {
    ...(each.core && { 'database-url': asRole(plan.databaseUrl) }),
    ...(each.ct && { 'ct-database-url': asRole(plan.ctDatabaseUrl) }),
    ...(each.redis && { 'redis-password': redisPassword }),
    ...(each.sealing && { 'sealing.keys': sealingKeys }),
    ...(each.caAccounts && { 'ca-account.keys': caAccountKeys }),
    ...(each.gatewayClient && {
      'gateway-ca.pem': gateway('ca.pem'),
      'gateway.pem': gateway(`${process}.pem`),
      'gateway.key': gateway(`${process}.key`),
    }),
    ...(each.gatewayServer && {
      'client-ca.pem': gateway('ca.pem'),
      'server.pem': gateway('server.pem'),
      'server.key': gateway('server.key'),
      'handle.keys': gateway('handle.keys'),
      'credentials.key': gateway('credentials.key'),
    }),
  };
}

/** Redis keeps nothing: it only carries wake-ups. */
const redisConf = (secret: string): string => `requirepass ${secret}\nsave ""\nappendonly no\n`;

/** Letters and digits only: it is part of URLs and of redis.conf. */
const password = (): string => `${randomBytes(24).toString('hex')}\n`;
const sealingKey = (): string => `${randomBytes(32).toString('base64')}\n`;

function writeAll(
  plan: SecretsPlan,
  service: string,
  files: Readonly<Record<string, string>>,
  mode: number,
): string[] {
  const folder = path.join(plan.folder, service);
  makeFolder(folder, mode === 0o400 ? 0o500 : 0o755, plan.uid);
  return Object.entries(files).flatMap(([name, text]) => {
    const file = path.join(folder, name);
    if (existsSync(file) && readFileSync(file, 'utf8') === text) return [];
    write(file, text, mode, plan.uid);
    return [path.join(service, name)];
  });
}

function makeFolder(folder: string, mode: number, uid: number | null): void {
  mkdirSync(folder, { recursive: true });
  // The owner of a closed folder may still write into it while it is made.
  chmodSync(folder, uid === null ? mode | 0o200 : mode);
  if (uid !== null) chownSync(folder, uid, uid);
}

/** Atomic: after a crash the file is complete or absent. */
function write(file: string, text: string, mode: number, uid: number | null): void {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, text, { mode: 0o600 });
  if (uid !== null) chownSync(draft, uid, uid);
  chmodSync(draft, mode);
  renameSync(draft, file);
}
