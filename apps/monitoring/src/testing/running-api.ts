import { readFileSync } from 'node:fs';
import path from 'node:path';
import { RunningFront, type SpecSettings } from '@certwright/core-testing';
import { monitoringSettings } from '../config';
import { start } from '../front';

export type { Tenant } from '@certwright/core-testing';

const front = {
  name: 'monitoring',
  settings: monitoringSettings,
  start,
  document: JSON.parse(readFileSync(path.join(__dirname, '../../openapi.json'), 'utf8')) as object,
};

export type RunningApi = RunningFront;

/** The whole API on a real PostgreSQL, a real Redis and a real port. */
export const RunningApi = {
  start: async (settings?: SpecSettings): Promise<RunningApi> => await RunningFront.start(front, settings),
};

/** A permission that suffices for every route. */
export const permission = 'Manage Monitored Domains';
