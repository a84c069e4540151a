import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { compare, lowered } from './baseline.mjs';
import { findingsByProject } from './projects.mjs';
import { listedWords } from './words.mjs';

const wordsIn = (text) => listedWords(text).map(({ word }) => word);

it.each([
  ['a comment', '// Whoever asks is told.', ['whoever', 'asks', 'told']], // language: test data
  ['a message', `throw new Error('The wish stands');`, ['stands']], // language: test data
  ['a name in camel case', 'const openNudges = nudgeOf(maxOctets);', ['nudges', 'nudge', 'octets']], // language: test data
  ['a class', 'class KeyJudge {}', ['judge']], // language: test data
  ['a name in snake case', 'SELECT last_nudge, octet_count', ['nudge', 'octet']], // language: test data
  ['a document', '| the log | goes **away** |', ['away']], // language: test data
])('finds listed words in %s', (_where, text, words) => {
  expect(wordsIn(text)).toEqual(words);
});

it.each([
  ['longer words', '// understands, tasks, amend, recommend, judicial, gateway, prejudges, withstands'],
  [
    'ASN.1, media types and PostgreSQL',
    'new OctetString(); // OCTET STRING, OCTET_STRING, octet_length, application/octet-stream',
  ],
])('ignores %s', (_what, text) => {
  expect(wordsIn(text)).toEqual([]);
});

it('counts lines from 1', () => {
  expect(listedWords('a\n  b anew\n')).toEqual([{ line: 2, word: 'anew', text: 'b anew' }]); // language: test data
});

it.each([
  ['// "a sequence of octets" language: RFC 1035, section 3.1'],
  ['const octets = 4; // language: RFC 791'],
  ['<!-- language: RFC 1035 --> octets'],
])('allows a word on a line whose comment gives a reason: %s', (text) => {
  expect(wordsIn(text)).toEqual([]);
});

it.each([
  ['no reason', '// octet language:', ['octet']], // language: test data
  ['no comment', `const text = 'octet language: C';`, ['octet']], // language: test data
])('does not allow a word with %s', (_what, text, words) => {
  expect(wordsIn(text)).toEqual(words);
});

it('allows a word only on its own line', () => {
  expect(wordsIn('// language: RFC 791\noctet')).toEqual(['octet']); // language: test data
});

describe('the projects', () => {
  let root;
  beforeEach(() => {
    root = mkdtempSync(path.join(process.env.CERTWRIGHT_TEST_RUN, 'language-'));
    for (const folder of [
      'apps/one/src',
      'libs/two/src',
      'tools',
      'docs',
      '.github',
      'node_modules/x',
      '.git',
    ])
      mkdirSync(path.join(root, folder), { recursive: true });
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const write = (file, text) => writeFileSync(path.join(root, file), text);

  it('are apps, libs, tools, docs and the top level', () => {
    for (const file of [
      'apps/one/src/a.ts',
      'libs/two/src/b.spec.ts',
      'tools/c.mjs',
      'docs/d.md',
      'README.md',
      '.github/e.md',
    ])
      write(file, 'nobody'); // language: test data
    for (const file of ['apps/one/openapi.json', 'node_modules/x/index.ts', '.git/f.md'])
      write(file, 'nobody'); // language: test data

    const files = [...findingsByProject(root)].map(([project, found]) => [
      project,
      found.map(({ file }) => file),
    ]);
    expect(files).toEqual([
      ['.', ['.github/e.md', 'README.md']],
      ['apps/one', ['apps/one/src/a.ts']],
      ['libs/two', ['libs/two/src/b.spec.ts']],
      ['docs', ['docs/d.md']],
      ['tools', ['tools/c.mjs']],
    ]);
  });
});

describe('the baseline', () => {
  const baseline = { docs: 3, tools: 2, 'libs/gone': 5 };

  it('is exceeded by a project with more words than its number, and by a new project with any', () => {
    const { above } = compare(baseline, { docs: 4, tools: 2, 'apps/new': 1 });
    expect(above).toEqual([
      { project: 'docs', count: 4, allowed: 3 },
      { project: 'apps/new', count: 1, allowed: 0 },
    ]);
  });

  it('reports projects that have fewer words and removed projects', () => {
    const { above, below, removed } = compare(baseline, { docs: 2, tools: 2 });
    expect([above, below, removed]).toEqual([[], [{ project: 'docs', count: 2, allowed: 3 }], ['libs/gone']]);
  });

  it('is only ever lowered', () => {
    expect(lowered(baseline, { docs: 2, tools: 9, 'apps/new': 4, 'libs/none': 0 })).toEqual({
      docs: 2,
      tools: 2,
    });
  });
});
