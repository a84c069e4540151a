import type { Issuing } from '../../testing/issuing';
import type { AuthorityWorld } from './authority-world';

/** What the built-in CA has issued and revoked, read from its ledger of signings. */
export function builtInLedger({
  database,
  repositories,
}: Issuing): Pick<
  AuthorityWorld,
  'database' | 'repositories' | 'unknownReferences' | 'issuedCount' | 'revocationReason'
> {
  return {
    database,
    repositories,
    unknownReferences: ['999999999', 'acme:1', ''],
    issuedCount: async () => {
      const [{ count }] = await database.query<[{ count: number }]>(
        `SELECT count(*)::int AS count FROM ca_signing`,
      );
      return count;
    },
    revocationReason: async (serialNumber) => {
      const [row] = await database.query<[{ revocation_reason: number | null }]>(
        `SELECT revocation_reason FROM ca_signing WHERE serial_number = decode($1, 'hex')`,
        [serialNumber],
      );
      return row.revocation_reason;
    },
  };
}
