import { parseArgs } from 'node:util';
import { coreDataSource } from '@certwright/persistence';
import { printed } from './report';
import { defects, isSabotage } from './sabotage';
import { simulate, type SimulationOptions } from './simulate';

const usage = `npm run simulate -- [--orders 10000] [--days 400] [--seed 1] [--faults default|none] [--step-hours 1] [--sabotage <defect>]

Runs the platform's own use cases over driven time on a PostgreSQL of its own, and exits 1 when something was late,
doubled, lost or wrong. --sabotage plants a defect, to show that it is found: ${Object.keys(defects).join(', ')}.`;

/** 0: nothing was found; 1: something was; 2: the simulation itself failed or was called wrongly. */
async function main(): Promise<number> {
  const options = readOptions();
  if (typeof options === 'string') {
    console.error(`${options}\n\n${usage}`);
    return 2;
  }
  await migrate(options.databaseUrl);
  const report = await simulate(options);
  console.log(printed(report));
  if (options.sabotage !== null && !report.isPlanted)
    console.log(`The defect ${options.sabotage} found no place.`);
  return report.violations.length === 0 ? 0 : 1;
}

/** @returns what is wrong */
function readOptions(): SimulationOptions | string {
  const text = { type: 'string' } as const;
  let values;
  try {
    const options = {
      orders: text,
      days: text,
      seed: text,
      faults: text,
      'step-hours': text,
      sabotage: text,
    };
    ({ values } = parseArgs({ options }));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const { orders = '10000', days = '400', seed = '1', faults = 'default', sabotage = '' } = values;
  const stepHours = values['step-hours'] ?? '1';
  if (!isNumber(orders, 1, 1_000_000)) return '--orders must be a whole number from 1 to 1000000.';
  if (!isNumber(days, 30, 3_000)) return '--days must be a whole number from 30 to 3000.';
  if (!['1', '2', '3', '4', '6'].includes(stepHours)) return '--step-hours must be 1, 2, 3, 4 or 6.';
  if (faults !== 'default' && faults !== 'none') return '--faults must be default or none.';
  if (sabotage !== '' && !isSabotage(sabotage)) return `--sabotage ${sabotage} is unknown.`;
  const databaseUrl = process.env['DATABASE_URL'];
  if (databaseUrl === undefined) return 'DATABASE_URL is missing: start it as npm run simulate.';
  return {
    ...{
      databaseUrl,
      seed,
      faults,
      orders: Number(orders),
      days: Number(days),
      stepHours: Number(stepHours),
    },
    sabotage: isSabotage(sabotage) ? sabotage : null,
    onProgress: (line) => console.log(line),
  };
}

const isNumber = (text: string, least: number, most: number) =>
  /^\d{1,7}$/.test(text) && Number(text) >= least && Number(text) <= most;

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
    process.exit(2);
  },
);
