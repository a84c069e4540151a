import { currentTraceparent, isTracing } from '@certwright/tracing';
import type { ColumnOptions } from 'typeorm';
import type { Tx } from './transactions';

/** Column of the traceparent of the span that inserted a row; null: none. As the migration creates it. */
export const traceparentColumn = {
  name: 'traceparent',
  nullable: true,
  default: () => `NULLIF(current_setting('certwright.traceparent', true), '')`,
} satisfies ColumnOptions;

/** Rows that `work` inserts get the traceparent of the current span, by the default of their column. */
export const withTraceparent = <T>(work: (tx: Tx) => Promise<T>): ((tx: Tx) => Promise<T>) => {
  const traceparent = isTracing() ? currentTraceparent() : null;
  if (traceparent === null) return work;
  return async (tx) => {
    await tx.query(`SELECT set_config('certwright.traceparent', $1, true)`, [traceparent]);
    return await work(tx);
  };
};

/** Columns of a row as `causeOfRow` of the jobs reads them, with a comma before; none while this process records no spans. */
export const tracedColumns = (insertedAt: 'opened_at' | 'created_at'): string =>
  isTracing() ? `, traceparent, extract(epoch FROM clock_timestamp() - ${insertedAt})::int AS "ageS"` : '';
