import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fieldFaultCodes, problemCodes } from '@certwright/errors';
import { issuanceErrorCodes } from '@certwright/issuance';

const root = path.join(__dirname, '../..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
/** Members of the table of reasons. Read as text: tools import no app. */
const reasons = [...read('apps/certs-v2/src/wire/reasons.ts').matchAll(/^ {2}([a-z_]+): \{ status:/gm)].map(
  ([, reason = '']) => reason,
);
const scripts = (JSON.parse(read('package.json')) as { scripts: Record<string, string> }).scripts;

/** The first column of the table below a heading, where it is code. */
function firstColumn(markdown: string, heading: string): string[] {
  const [, section = ''] = markdown.split(`\n## ${heading}\n`);
  const [own = ''] = section.split('\n## ');
  return [...own.matchAll(/^\| `([a-z_]+)` +\|/gm)].map(([, code = '']) => code);
}

describe('docs/errors.md', () => {
  const errors = read('docs/errors.md');

  it.each([
    ['Codes', problemCodes],
    ['Sub-errors of an order', fieldFaultCodes],
    ['Error codes of an issuance', issuanceErrorCodes],
    ['Reasons of the certificate API', reasons],
  ])('"%s" lists exactly the codes of the catalogue', (heading, codes) => {
    expect(firstColumn(errors, heading).sort()).toEqual([...codes].sort());
  });
});

describe('paths in the documents', () => {
  const documents = [
    '.',
    'docs',
    'docs/decisions',
    'docs/runbooks',
    '.github',
    '.github/ISSUE_TEMPLATE',
  ].flatMap((folder) =>
    readdirSync(path.join(root, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => path.join(folder, name)),
  );

  it.each(documents)('%s names only files that exist', (document) => {
    const paths = [...read(document).matchAll(/`((?:apps|libs|tools)\/[\w./-]+\.[a-z]+)`/g)].map(
      ([, file = '']) => file,
    );
    expect(paths.filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
  });

  it.each(documents)('%s links only to what exists', (document) => {
    const links = [...read(document).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = '']) => link);
    const missing = links.filter((link) => !existsSync(path.join(root, path.dirname(document), link)));
    expect(missing).toEqual([]);
  });

  it.each(documents)('%s runs only scripts that exist', (document) => {
    const run = [...read(document).matchAll(/npm run (?:-s )?([a-z:-]+)/g)].map(([, script = '']) => script);
    expect(run.filter((script) => !(script in scripts))).toEqual([]);
  });
});

describe('docs/walkthrough.md', () => {
  it('names the files of the main steps', () => {
    const walkthrough = read('docs/walkthrough.md');
    for (const place of [
      'orders.controller.ts',
      'next-step.ts',
      'attachments.ts',
      'download.controller.ts',
    ]) {
      expect(walkthrough).toContain(place);
    }
  });
});

describe('docs/runbooks/rotation.md', () => {
  it.each([1, 2, 3])('puts a new sealing key before %i others, and keeps these', (count) => {
    const [, section = ''] = read('docs/runbooks/rotation.md').split('\n## Sealing key\n');
    const commands = [...section.matchAll(/^ {3}```sh\n(.*?)^ {3}```/gms)].map(([, text = '']) => text);
    const [append = '', putFirst = ''] = commands;
    const folder = mkdtempSync(path.join(tmpdir(), 'rotation-'));
    const file = path.join(folder, 'sealing-keys');
    const keys = () => readFileSync(file, 'utf8').trim().split(',');
    const before = Array.from({ length: count }, (_, index) => Buffer.alloc(32, index).toString('base64'));
    writeFileSync(file, `${before.join(',')}\n`);
    execFileSync('sh', ['-ec', append], { cwd: folder });
    const [added = '', ...rest] = keys().reverse();
    expect(rest.reverse()).toEqual(before);
    execFileSync('sh', ['-ec', putFirst], { cwd: folder });
    expect(keys()).toEqual([added, ...before]);
    rmSync(folder, { recursive: true });
  });
});
