import { randomBytes, randomInt } from 'node:crypto';
import { apiKeySha256, mintApiKey } from '@certwright/service';
import { Client } from 'pg';

interface Database {
  query(statement: string, parameters: unknown[]): Promise<unknown>;
}

/** A new account with an API key, which may order and manage certificates unless other permissions are given. */
export async function apiAccount(
  database: Database,
  permissions: readonly string[] = [],
): Promise<{ readonly accountId: string; readonly apiKey: string }> {
  const accountId = String(randomInt(1, 2 ** 47));
  const apiKey = mintApiKey(accountId, randomBytes);
  const granted = permissions.length > 0 ? permissions : ['Order and Manage Certificates'];
  await database.query(`INSERT INTO account (id, name) VALUES ($1, 'A tenant')`, [accountId]);
  await database.query(
    `INSERT INTO api_key (account_id, label, secret_sha256, permissions) VALUES ($1, 'spec', $2, $3)`,
    [accountId, apiKeySha256(apiKey), granted],
  );
  return { accountId, apiKey };
}

/** An API looks an API key up again after ten seconds, which pass anywhere on a busy machine. */
const isOfKeyCache = (statement: string) => statement.includes('FROM api_key JOIN account');

/** The texts of the statements that this process sends to its databases during `work`, without lookups of API keys. */
export async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
  const query = jest.spyOn(Client.prototype, 'query');
  await work();
  const statements = (query.mock.calls as unknown[][]).map(([statement]) =>
    typeof statement === 'string' ? statement : (statement as { readonly text: string }).text,
  );
  query.mockRestore();
  return statements.filter((statement) => !isOfKeyCache(statement));
}
