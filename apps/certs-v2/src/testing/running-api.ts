import { randomBytes, scryptSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RunningFront, type SpecSettings } from '@certwright/core-testing';
import type { ApiDocument } from '@certwright/testing';
import { certsSettings } from '../config';
import { start } from '../front';
import { Tenant } from './tenant';

/** `openapi.json`. */
export const keptDocument = JSON.parse(
  readFileSync(join(__dirname, '../../openapi.json'), 'utf8'),
) as ApiDocument;

const front = {
  name: 'certs-v2',
  settings: certsSettings,
  start,
  document: keptDocument,
  environment: { SEALING_KEYS: randomBytes(32).toString('base64') },
  // The sweep queries on its own schedule, independent of requests.
  isOfBackground: (statement: string) => statement.includes('account_with_news'),
  Tenant,
};

export type RunningApi = RunningFront<Tenant>;

/** The whole API on a real PostgreSQL, a real Redis and a real port. */
export const RunningApi = {
  start: async (settings?: SpecSettings): Promise<RunningApi> => await RunningFront.start(front, settings),
};

/** A person of the account who signs in with a password. @returns the account as that person calls it */
export async function asUser(
  { database }: RunningApi,
  tenant: Tenant,
  email: string,
  password: string,
): Promise<Tenant> {
  await database.query(`INSERT INTO account_user (account_id, email, password_hash) VALUES ($1, $2, $3)`, [
    tenant.accountId,
    email,
    passwordHash(password),
  ]);
  return tenant.as(email, password);
}

/** As `account_user.password_hash` has it; cheap, so that checks of a spec do not wait for each other on a busy machine. */
function passwordHash(password: string): string {
  const { N, r, p } = { N: 2 ** 10, r: 8, p: 1 };
  const salt = randomBytes(16);
  const hash = scryptSync(password, salt, 32, { N, r, p, maxmem: 64 * 1024 * 1024 });
  return `scrypt:${N}:${r}:${p}:${salt.toString('base64url')}:${hash.toString('base64url')}`;
}

export { Tenant } from './tenant';
export type { ReceivedResponse, Sent } from '@certwright/testing';
