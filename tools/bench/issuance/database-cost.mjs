// What orders and certificates cost the core database: rows, bytes, WAL and commits.
import { setTimeout as delay } from 'node:timers/promises';
import { table } from '../report.mjs';

/** Sessions report their statistics within a second of their last transaction. */
const statisticsMs = 2_000;

/** @typedef {{ walBytes: number, commits: number, bytes: Map<string, number>, rows: Map<string, number> }} State */

/** @param {import('pg').Pool} database @returns {Promise<State>} */
export async function stateOf(database) {
  await delay(statisticsMs);
  const [total] = (
    await database.query(
      `SELECT pg_current_wal_lsn() - '0/0'::pg_lsn AS wal, xact_commit AS commits
       FROM pg_stat_database WHERE datname = current_database()`,
    )
  ).rows;
  const { rows: tables } = await database.query(
    `SELECT relname AS name, pg_total_relation_size(relid) AS bytes, n_tup_ins - n_tup_del AS rows
     FROM pg_stat_user_tables`,
  );
  return {
    walBytes: Number(total.wal),
    commits: Number(total.commits),
    bytes: new Map(tables.map(({ name, bytes }) => [name, Number(bytes)])),
    rows: new Map(tables.map(({ name, rows }) => [name, Number(rows)])),
  };
}

/**
 * @param {State} empty @param {State} ordered @param {State} issued @param {number} count of orders, and of certificates
 * @param {string} machine
 */
export function costSection(empty, ordered, issued, count, machine) {
  const steps = [
    [empty, ordered],
    [ordered, issued],
  ];
  const each = (read) => steps.map(([from, to]) => (read(to) - read(from)) / count);
  const kib = (bytes) => (bytes / 1_024).toFixed(2);
  const sum = (values) => [...values.values()].reduce((one, other) => one + other, 0);
  const totals = [
    ['rows that stay', ...each(({ rows }) => sum(rows)).map((value) => value.toFixed(1))],
    ['KiB of tables and indexes', ...each(({ bytes }) => sum(bytes)).map(kib)],
    ['KiB of WAL', ...each(({ walBytes }) => walBytes).map(kib)],
    ['transactions', ...each(({ commits }) => commits).map((value) => value.toFixed(1))],
  ];
  const tables = [...issued.bytes.keys()]
    .map((name) => [name, ...each(({ bytes }) => bytes.get(name) ?? 0)])
    .filter(([, order, certificate]) => order + certificate >= 64)
    .sort(([, a, b], [, c, d]) => c + d - a - b)
    .map(([name, order, certificate]) => [`KiB of \`${name}\``, kib(order), kib(certificate)]);
  const text = `## What an order costs the core database

${machine} ${count} orders with one name, and as many certificates of the built-in CA. Transactions include those of rounds and of the
benchmark itself.

${table([['of one', 'order', 'certificate'], ...totals, ...tables])}`;
  return { name: 'database cost', text };
}
