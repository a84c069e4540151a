import { parseArgs } from 'node:util';
import { coreDataSource } from '@certwright/core-schema';
import { lastErrors } from './platform/processes';
import { printed } from './report';
import { defects, isSabotage } from './sabotage';
import { simulate, type SimulationOptions } from './simulate';

const usage = `npm run simulate -- [options]

Runs the use cases of the platform over simulated time on a temporary PostgreSQL. Exits with 1 if anything was late,
duplicated, lost or wrong.

  --orders 10000     orders and certificate objects
  --days 400         days of simulated time
  --seed 1           seed of user actions and faults
  --faults default   or none
  --step-hours 1     size of a step of the clock: 1, 2, 3, 4 or 6
  --activity 1       how often users act; 2 is twice as often
  --sabotage NAME    plants defects, to show that the checks find them; names are separated by commas:
                     ${Object.keys(defects).join(', ')}`;

/** 0: no violations; 1: violations; 2: the simulation failed or its options are invalid. */
async function main(): Promise<number> {
  const options = readOptions();
  if (typeof options === 'string') {
    console.error(`${options}\n\n${usage}`);
    return 2;
  }
  await migrate(options.databaseUrl);
  const report = await simulate(options);
  console.log(printed(report));
  const unplanted = options.sabotage.filter((name) => !report.planted.includes(name));
  if (unplanted.length > 0) console.log(`These defects could not be planted: ${unplanted.join(', ')}`);
  return report.violations.length === 0 ? 0 : 1;
}

/** @returns the options, or an error message */
function readOptions(): SimulationOptions | string {
  const text = { type: 'string' } as const;
  const options = { orders: text, days: text, seed: text, faults: text, activity: text, sabotage: text };
  let values;
  try {
    ({ values } = parseArgs({ options: { ...options, 'step-hours': text } }));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const { orders = '10000', days = '400', seed = '1', faults = 'default', activity = '1' } = values;
  const stepHours = values['step-hours'] ?? '1';
  const sabotage = values.sabotage?.split(',') ?? [];
  if (!isNumber(orders, 1, 1_000_000)) return '--orders must be a whole number from 1 to 1000000.';
  if (!isNumber(days, 30, 3_000)) return '--days must be a whole number from 30 to 3000.';
  if (!['1', '2', '3', '4', '6'].includes(stepHours)) return '--step-hours must be 1, 2, 3, 4 or 6.';
  if (faults !== 'default' && faults !== 'none') return '--faults must be default or none.';
  if (!/^\d{1,2}(\.\d{1,2})?$/.test(activity)) return '--activity must be a number from 0 to 99.';
  if (!sabotage.every(isSabotage))
    return `--sabotage must be one or more of: ${Object.keys(defects).join(', ')}.`;
  const databaseUrl = process.env['DATABASE_URL'];
  if (databaseUrl === undefined) return 'DATABASE_URL is not set: run npm run simulate.';
  return {
    ...{
      databaseUrl,
      seed,
      faults,
      orders: Number(orders),
      days: Number(days),
      stepHours: Number(stepHours),
    },
    ...{ activity: Number(activity), sabotage },
    onProgress: (line) => console.log(line),
  };
}

const isNumber = (text: string, min: number, max: number) =>
  /^\d{1,7}$/.test(text) && Number(text) >= min && Number(text) <= max;

async function migrate(url: string): Promise<void> {
  const database = coreDataSource({
    url,
    applicationName: 'simulate',
    poolSize: 2,
    statementTimeoutMs: 60_000,
  });
  await database.initialize();
  await database.runMigrations();
  await database.destroy();
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error);
    for (const line of lastErrors()) console.error(line);
    process.exit(2);
  },
);
