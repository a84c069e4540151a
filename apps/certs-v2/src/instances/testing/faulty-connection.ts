import type { Socket } from 'node:net';
import { Client } from 'pg';

/** Where a connection to the database is cut. */
export interface Fault {
  /** Which statement from now on, from 1; COMMIT counts. */
  readonly nth: number;
  /** Before it, so that it is never executed; or after it, so that it is, but the client gets no result. */
  readonly when: 'before' | 'after';
}

interface Connected {
  readonly connection: { readonly stream: Socket };
}

const lost = () => Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });

/**
 * Cuts the connection at one statement of this process while `work` runs, as a crash of the database or of the process
 * does: what was not committed is undone by the server.
 *
 * @returns what `work` returns, and whether it came to the fault at all
 */
export async function withFault<T>(
  { nth, when }: Fault,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly reached: boolean }> {
  let count = 0;
  const real = Client.prototype.query as (...args: unknown[]) => unknown;
  const spy = jest.spyOn(Client.prototype, 'query').mockImplementation(function (
    this: Client,
    ...args: unknown[]
  ) {
    count += 1;
    const runQuery = () => real.apply(this, args);
    if (count !== nth) return runQuery();
    const cut = () => (this as unknown as Connected).connection.stream.destroy(lost());
    if (when === 'before') {
      cut();
      return Promise.reject(lost());
    }
    return Promise.resolve(runQuery()).then(() => {
      cut();
      throw lost();
    });
  } as never);
  try {
    return { result: await work(), reached: count >= nth };
  } finally {
    spy.mockRestore();
  }
}
