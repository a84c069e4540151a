import type { Connection, Submittable } from 'pg';
import type { EntityManager } from 'typeorm';
import type { BinaryRows } from './binary-rows';

/** Members of a `pg` connection that its type lacks. */
interface CopyingConnection {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/**
 * `COPY … FROM STDIN` in the caller's transaction: twice as fast as INSERT from arrays.
 *
 * @param target table and columns
 * @throws what the server says; the transaction has failed then
 */
export async function copyIn(tx: EntityManager, target: string, rows: BinaryRows): Promise<void> {
  if (tx.queryRunner === undefined) throw new Error('rows are copied in a transaction');
  const client: { query(query: Submittable): unknown } = await tx.queryRunner.connect();
  const data = rows.finish();
  await new Promise<void>((resolve, reject) => {
    client.query(new CopyIn(`COPY ${target} FROM STDIN (FORMAT binary)`, data, resolve, reject));
  });
}

/** A query as `pg` runs one: each method handles a response of the server. */
class CopyIn implements Submittable {
  constructor(
    private readonly statement: string,
    private readonly data: Buffer,
    private readonly resolve: () => void,
    private readonly reject: (error: Error) => void,
  ) {}

  submit(connection: Connection): void {
    connection.query(this.statement);
  }

  handleCopyInResponse(connection: Connection): void {
    const copying = connection as unknown as CopyingConnection;
    copying.sendCopyFromChunk(this.data);
    copying.endCopyFrom();
  }

  handleError(error: Error): void {
    this.reject(error);
  }

  handleReadyForQuery(): void {
    this.resolve();
  }

  handleCommandComplete(): void {
    // ReadyForQuery follows.
  }
}
