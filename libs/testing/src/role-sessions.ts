import { Client } from 'pg';
import type { TestDatabase } from './test-database';

/** A session for each database role of a process, which tries statements that may be forbidden. */
export class RoleSessions {
  private constructor(private readonly sessions: ReadonlyMap<string, Client>) {}

  static async open(database: TestDatabase, processes: readonly string[]): Promise<RoleSessions> {
    const sessions = new Map<string, Client>();
    for (const process of processes) {
      const session = new Client({
        connectionString: database.urlOf(process),
        // The comparison of grants with executed statements skips these sessions (tools/grants).
        application_name: 'tries what is forbidden',
      });
      await session.connect();
      sessions.set(process, session);
    }
    return new RoleSessions(sessions);
  }

  /** In a transaction that is rolled back. @returns the SQLSTATE of its failure; null: it was done */
  async attempt(process: string, statement: string): Promise<string | null> {
    const session = this.sessions.get(process);
    if (session === undefined) throw new Error(`there is no role for ${process}`);
    try {
      await session.query(`BEGIN; ${statement}; ROLLBACK`);
      return null;
    } catch (error) {
      await session.query('ROLLBACK');
      return (error as { code: string }).code;
    }
  }

  async close(): Promise<void> {
    for (const session of this.sessions.values()) await session.end();
  }
}
