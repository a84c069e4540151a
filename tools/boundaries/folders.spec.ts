import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(__dirname, '../..');

/** Folder → folders of the same app that its files import; specs and their fixtures left out. */
function importsBetweenFolders(app: string): ReadonlyMap<string, ReadonlySet<string>> {
  const source = path.join(root, 'apps', app, 'src');
  const imports = new Map<string, Set<string>>();
  for (const file of globSync('*/**/*.ts', { cwd: source })) {
    if (file.endsWith('.spec.ts') || file.split(path.sep).includes('testing')) continue;
    const [folder = ''] = file.split(path.sep);
    for (const [, specifier = ''] of readFileSync(path.join(source, file), 'utf8').matchAll(
      /from '(\.[^']*)'/g,
    )) {
      const [imported = '', ...rest] = path.join(path.dirname(file), specifier).split(path.sep);
      if (imported === folder || rest.length === 0) continue;
      imports.set(folder, (imports.get(folder) ?? new Set()).add(imported));
    }
  }
  return imports;
}

/** @returns folders that import each other, in order; null: there are none */
function cycleIn(imports: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] | null {
  const done = new Set<string>();
  const visit = (folder: string, above: readonly string[]): readonly string[] | null => {
    if (above.includes(folder)) return [...above.slice(above.indexOf(folder)), folder];
    if (done.has(folder)) return null;
    for (const imported of imports.get(folder) ?? []) {
      const cycle = visit(imported, [...above, folder]);
      if (cycle !== null) return cycle;
    }
    done.add(folder);
    return null;
  };
  for (const folder of imports.keys()) {
    const cycle = visit(folder, []);
    if (cycle !== null) return cycle;
  }
  return null;
}

it.each(globSync('*', { cwd: path.join(root, 'apps') }))(
  'folders of %s do not import each other in a circle',
  (app) => {
    const imports = importsBetweenFolders(app);
    expect(cycleIn(imports)).toBeNull();
  },
);

it('finds a cycle over several folders', () => {
  const imports = new Map([
    ['orders', new Set(['wire'])],
    ['wire', new Set(['certificates'])],
    ['certificates', new Set(['orders'])],
  ]);
  expect(cycleIn(imports)).toEqual(['orders', 'wire', 'certificates', 'orders']);
});
