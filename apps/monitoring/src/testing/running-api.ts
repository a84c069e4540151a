import { readFileSync } from 'node:fs';
import path from 'node:path';
import { RunningFront, Tenant } from '@certwright/core-testing';
import { ctTestDatabase } from '@certwright/ct-testing';
import type { ApiDocument } from '@certwright/testing';
import { monitoringSettings } from '../config';
import { start } from '../front';

export type { Tenant } from '@certwright/core-testing';

/** `openapi.json`. */
export const keptDocument = JSON.parse(
  readFileSync(path.join(__dirname, '../../openapi.json'), 'utf8'),
) as ApiDocument;

const front = {
  Tenant,
  name: 'monitoring',
  settings: monitoringSettings,
  start,
  document: keptDocument,
};

export type RunningApi = RunningFront;

type Environment = Readonly<Record<string, string>>;

/** The whole API on a real PostgreSQL, a real Redis and a real port. */
export const RunningApi = {
  /** Without a ct database, unless `settings` name one: the index is only read for some members. */
  start: async (settings: Environment = {}): Promise<RunningApi> =>
    await RunningFront.start(front, { CT_DATABASE_URL: 'postgres://127.0.0.1:1/none', ...settings }),

  /** With an empty index, whose tables are in the same database. */
  startWithIndex: async (settings: Environment = {}): Promise<RunningApi> =>
    await RunningFront.start(
      front,
      (databaseUrl) => ({ CT_DATABASE_URL: databaseUrl, ...settings }),
      async () => await ctTestDatabase(1_000, 2_000),
    ),
};

/** A permission that suffices for every route. */
export const permission = 'Manage Monitored Domains';
