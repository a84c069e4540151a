import { testDatabase } from '@certwright/testing';
import type { Report } from './report';
import { defects, type Sabotage } from './sabotage';
import { simulate, type SimulationOptions } from './simulate';

jest.setTimeout(600_000);

const small = { orders: 40, days: 120, seed: 'spec', stepHours: 6, activity: 4, onProgress: () => undefined };

async function simulated(
  options: Pick<SimulationOptions, 'faults' | 'sabotage'> & Partial<SimulationOptions>,
): Promise<Report> {
  const database = await testDatabase();
  try {
    // Planted defects need privileges that no role has.
    const roles = options.sabotage.length === 0 ? { urlOf: database.urlOf } : {};
    return await simulate({ ...small, ...options, ...roles, databaseUrl: database.url });
  } finally {
    await database.dispose();
  }
}

it('reports no violations of the platform under faults', async () => {
  const report = await simulated({ faults: 'default', sabotage: [] });
  expect(report.violations).toEqual([]);
  for (const [what, count] of Object.entries(report.checked)) expect([what, count > 0]).toEqual([what, true]);
  expect(report.counts['certificates issued']).toBeGreaterThan(2 * small.orders);
});

/** Defects that do not mask each other are planted together. */
const together: readonly (readonly Sabotage[])[] = [
  ['skipped-renewal', 'doubled-notice', 'doubled-ledger-entry', 'stale-list', 'lost-webhooks'],
  ['doubled-certificate', 'lost-notices', 'lost-ledger-entry', 'forgotten-revocation', 'doubled-webhook'],
  ['late-renewal', 'changed-balance', 'stuck-issuances'],
];

it('plants every defect', () => {
  expect(together.flat().sort()).toEqual(Object.keys(defects).sort());
});

it.each(together.map((names) => [names.join(', '), names] as const))('finds %s', async (_, names) => {
  const { planted, violations } = await simulated({ faults: 'none', sabotage: names });
  expect([...planted].sort()).toEqual([...names].sort());
  const found = new Set(violations.map(({ fate, subject }) => `${fate} ${subject}`));
  for (const name of names) expect([...found]).toContain(defects[name].found.join(' '));
});
