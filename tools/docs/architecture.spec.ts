import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(__dirname, '../..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const namesIn = (folder: string) => readdirSync(path.join(root, folder)).sort();
const architecture = read('ARCHITECTURE.md');

/** Cells of the rows of the table below a heading, without the header. */
function rowsBelow(heading: string): string[][] {
  const [, after = ''] = architecture.split(`\n## ${heading}\n`);
  const [section = ''] = after.split(/\n###? /);
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, -1),
  );
}
const codeIn = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

interface LibRow {
  readonly layer: string;
  readonly lib: string;
  readonly imports: readonly string[];
}
const libRows = rowsBelow('Libs').map(([layer = '', lib, , imports]): LibRow => ({
  layer,
  lib: codeIn(lib)[0] ?? '',
  imports: codeIn(imports),
}));
const processRows = rowsBelow('Processes').map(([name, , stores = '']) => ({
  name: codeIn(name)[0] ?? '',
  stores: stores === 'none' ? [] : stores.split(', '),
}));

/** Libs that the code of a lib imports; specs and fixtures left out. */
function importsOf(lib: string): string[] {
  const files = globSync('**/*.ts', { cwd: path.join(root, 'libs', lib, 'src') }).filter(
    (file) => !file.endsWith('.spec.ts') && !file.split(path.sep).includes('testing'),
  );
  const imports = files.flatMap((file) =>
    [...read(`libs/${lib}/src/${file}`).matchAll(/from '@certwright\/([\w-]+)'/g)].map(
      ([, name = '']) => name,
    ),
  );
  return [...new Set(imports)].sort();
}

/** Stores whose address is a setting of the app, or one of those that all front ends have. */
function storesOf(app: string): string[] {
  const own = globSync('**/{config,*-settings}.ts', { cwd: path.join(root, 'apps', app, 'src') })
    .map((file) => read(`apps/${app}/src/${file}`))
    .join('\n');
  const shared = own.includes('...frontSettings(') ? read('libs/service/src/config/front-settings.ts') : '';
  const settings = own + shared;
  const stores = {
    core: 'DATABASE_URL: databaseUrl',
    ct: 'CT_DATABASE_URL: databaseUrl',
    Redis: '\\.\\.\\.redisSettings\\(',
  };
  return Object.entries(stores).flatMap(([store, setting]) =>
    new RegExp(`^ *${setting}`, 'm').test(settings) ? [store] : [],
  );
}

const tagOf = (project: string, kind: string): string | undefined =>
  (JSON.parse(read(`${project}/project.json`)) as { tags: string[] }).tags
    .find((tag) => tag.startsWith(`${kind}:`))
    ?.slice(kind.length + 1);

describe('ARCHITECTURE.md', () => {
  it('has a row for every app and for nothing else', () => {
    expect(processRows.map(({ name }) => name).sort()).toEqual(namesIn('apps'));
  });

  it('shows every app in its picture', () => {
    const [, picture = ''] = architecture.split('```');
    expect(namesIn('apps').filter((app) => !picture.includes(app))).toEqual([]);
  });

  it.each(processRows)('lists the stores of $name as its settings do', ({ name, stores }) => {
    expect(stores).toEqual(storesOf(name));
  });

  it('has a row for every lib and for nothing else', () => {
    expect(libRows.map(({ lib }) => lib).sort()).toEqual(namesIn('libs'));
  });

  it.each(libRows)('places $lib in the layer of its tag', ({ layer, lib }) => {
    expect(layer).toBe(tagOf(`libs/${lib}`, 'type'));
  });

  it.each(libRows)('lists the imports of $lib as its code does', ({ lib, imports }) => {
    expect(imports).toEqual(importsOf(lib));
  });

  it('mentions only projects and tools that exist', () => {
    const places = [...architecture.matchAll(/`((?:apps|libs|tools)\/[\w-]+)`/g)].map(
      ([, place = '']) => place,
    );
    expect(places.length).toBeGreaterThan(0);
    expect(places.filter((place) => !existsSync(path.join(root, place)))).toEqual([]);
  });
});
