import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(__dirname, '../..');
const operating = readFileSync(path.join(root, 'docs/operating.md'), 'utf8');
const [, after = ''] = operating.split('\n### Several copies\n');
const [section = ''] = after.split(/\n##+ /);
const rows = section
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').map((cell) => cell.trim()));

it('the table of copies has a row for every app', () => {
  // The agent has one copy per host.
  const apps = readdirSync(path.join(root, 'apps')).filter((app) => app !== 'agent');
  expect(rows.map(([, app = '']) => app.replaceAll('`', '')).sort()).toEqual(apps.sort());
});

it.each(rows.map(([, app = '', specs = '']) => [app, specs] as const))(
  '%s names specs that run two copies',
  (_app, cell) => {
    const specs = [...cell.matchAll(/`([\w./-]+\.spec\.ts)`/g)].map(([, spec = '']) => spec);
    expect(specs.length).toBeGreaterThan(0);
    for (const spec of specs) {
      expect(existsSync(path.join(root, spec)) ? '' : spec).toBe('');
      expect(`${spec}\n${readFileSync(path.join(root, spec), 'utf8')}`).toMatch(
        /copies|copy|another worker|doubled/i,
      );
    }
  },
);
