import { globSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(__dirname, '../..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const contributing = read('CONTRIBUTING.md');

interface Recipe {
  readonly title: string;
  readonly text: string;
  /** Paths in the numbered steps. Links are not among them. */
  readonly listed: readonly string[];
}

const recipes = contributing
  .split('\n### ')
  .slice(1)
  .map((section): Recipe => {
    const [title = ''] = section.split('\n');
    const [, steps = ''] = section.split(/\n(?=1\. )/);
    const listed = [...steps.matchAll(/`((?:(?:apps|libs|tools|docs)\/)?[\w<>./-]+\.[a-z]+)`/g)].map(
      ([, file = '']) => file,
    );
    return {
      title,
      text: section,
      listed: [...new Set(listed)].filter((file) => /[/A-Z]/.test(file)).sort(),
    };
  });
const recipe = (title: string): Recipe => {
  const found = recipes.find((each) => each.title === title);
  if (found === undefined) throw new Error(`CONTRIBUTING.md has no recipe "${title}"`);
  return found;
};
/** List apps too, but are generated. */
const generated = ['tools/language/baseline.json', 'docs/benchmarks.md'];
const isSpec = (file: string) => file.endsWith('.spec.ts');

/** The files that the recipe's `git grep` prints, found without git. */
function filesOfExample({ title, text }: Recipe): { mentions: (file: string) => boolean; files: string[] } {
  const command = /^git grep -l([iw]) ([\w-]+) -- (.+?) ':!\*\.spec\.ts'((?: ':!\*\w+\*')*)$/m.exec(text);
  if (command === null) throw new Error(`The recipe "${title}" has no git grep command`);
  const [, option, word = '', folders = '', left = ''] = command;
  const leftOut = Array.from(left.matchAll(/\w+/g), ([part]) => part);
  const pattern = option === 'w' ? new RegExp(`\\b${word}\\b`) : new RegExp(word, 'i');
  const mentions = (file: string) => pattern.test(read(file));
  const files = folders
    .split(' ')
    .flatMap((folder) => globSync(`${folder}/**/*.*`, { cwd: root }))
    .filter((file) => !isSpec(file) && !leftOut.some((part) => file.includes(part)) && mentions(file));
  return { mentions, files: files.sort() };
}

it('has four recipes', () => {
  expect(recipes.map(({ title }) => title)).toEqual([
    'Add a field to an order',
    'Add a DNS provider',
    'Add an error code',
    'Add an app',
  ]);
});

describe.each(['Add a field to an order', 'Add a DNS provider', 'Add an error code'])(
  'the recipe "%s"',
  (title) => {
    const { listed } = recipe(title);
    const { files, mentions } = filesOfExample(recipe(title));

    it('lists exactly the files that mention its example', () => {
      expect(files.length).toBeGreaterThan(5);
      expect(listed.filter((file) => !isSpec(file))).toEqual(files);
    });

    it('names specs that test its example', () => {
      const specs = listed.filter(isSpec);
      expect(specs.length).toBeGreaterThan(title === 'Add a field to an order' ? 1 : 0);
      expect(specs.filter((spec) => !mentions(spec))).toEqual([]);
    });
  },
);

describe('the recipe "Add an app"', () => {
  // The agent is a program on customers' hosts: no Nest, no database, no place in a deployment.
  const apps = readdirSync(path.join(root, 'apps')).filter((app) => app !== 'agent');
  const { listed } = recipe('Add an app');
  const inApp = listed.filter((file) => file.startsWith('apps/<app>/'));

  it('lists exactly the files that every app has', () => {
    const [first = [], ...others] = apps.map((app) =>
      globSync('**/*.*', { cwd: path.join(root, 'apps', app) }),
    );
    const common = first.filter((file) => others.every((files) => files.includes(file)));
    expect(inApp).toEqual(common.map((file) => `apps/<app>/${file}`).sort());
  });

  it('lists exactly the files that name every app', () => {
    const files = ['*.*', '.ci/*', 'libs/**/*.*', 'tools/**/*.*', 'docs/**/*.*']
      .flatMap((pattern) => globSync(pattern, { cwd: root }))
      .filter((file) => !generated.includes(file) && /\.(?:[cm]?[jt]s|json|md|sh)$|^\.ci\/run$/.test(file));
    const naming = files.filter((file) => {
      const text = read(file);
      return apps.every((app) => new RegExp(`(?<![\\w-])${app}(?![\\w-])`).test(text));
    });
    expect(listed.filter((file) => !inApp.includes(file))).toEqual(naming.sort());
  });
});
