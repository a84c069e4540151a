import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '@certwright/testing';
import { configTemplates } from './config-templates';
import { filledIn, type IssuedFiles, issueFiles } from './testing/issued-files';
import { mailServers } from './testing/mail-servers';
import { commandOf, type Place, type Program } from './testing/program';
import { serve } from './testing/site';
import { webServers } from './testing/web-servers';

const programs = [...webServers, ...mailServers];
const isRoot = process.getuid?.() === 0;
const folder = mkdtempSync(path.join(tmpdir(), 'certwright-templates-'));
// Servers that give up root must still reach what they serve.
chmodSync(folder, 0o755);
let files: IssuedFiles;

beforeAll(() => {
  files = issueFiles(folder);
}, 30_000);
afterAll(() => rmSync(folder, { recursive: true }));

it('every template is checked by a real program', () => {
  expect(programs.map(({ template }) => template).sort()).toEqual(configTemplates.map(({ name }) => name));
});

let made = 0;

/** A template in a minimal configuration, with the files in their places. */
async function setUp(program: Program, template: string): Promise<{ place: Place; file: string }> {
  const own = path.join(folder, `${program.template}-${(made += 1)}`);
  mkdirSync(path.join(own, 'tmp'), { recursive: true });
  const place = { folder: own, port: await freePort() };
  const file = path.join(own, program.file);
  writeFileSync(file, program.config(filledIn(template, files), place));
  return { place, file };
}

/** Shown as skipped where the program is missing; tools/test/peers.sh installs all of them. */
describe.each(programs.map((program) => [program.template, program] as const))('%s', (_name, program) => {
  const command = commandOf(program);
  const given = command !== null ? it : it.skip;
  const served = program.needsRoot && !isRoot ? it.skip : given;

  const text = (security: boolean) =>
    configTemplates.find(({ name }) => name === program.template)?.text(security) ?? '';

  const check = async (template: string) => {
    const { file, place } = await setUp(program, template);
    const { status, stdout, stderr } = spawnSync(command ?? '', program.checkArguments(file, place), {
      encoding: 'utf8',
      env: { ...process.env, HOME: place.folder },
    });
    const said = `${stdout}${stderr}`;
    return { status, said, complains: /\b(warning|emerg|alert|deprecated|unused)\b/i.test(said) };
  };
  const good = { status: 0, complains: false };

  given.each([false, true])(
    'accepts it (security settings: %s)',
    async (security) => {
      expect(await check(text(security))).toMatchObject(good);
    },
    60_000,
  );

  const hsts = /^#(?=.*Strict-Transport-Security)/m;
  const withHsts = hsts.test(text(true)) ? given : it.skip;

  withHsts(
    'accepts what only its user may enable',
    async () => {
      expect(await check(text(true).replace(hsts, ''))).toMatchObject(good);
    },
    60_000,
  );

  served.each([false, true])(
    'serves certificate and chain with it (security settings: %s)',
    async (security) => {
      const site = await serve(program, {
        command: command ?? '',
        files,
        ...(await setUp(program, text(security))),
      });
      const only = (version: 'TLSv1.2' | 'TLSv1.3') => ({ minVersion: version, maxVersion: version });
      expect(await site.tried(only('TLSv1.2'))).toBe('TLSv1.2');
      if (security) expect(await site.tried(only('TLSv1.3'))).toBe('TLSv1.3');
      const withoutAead = { ...only('TLSv1.2'), ciphers: 'ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA' };
      expect(await site.tried(withoutAead)).toBe(!security && program.lenient ? 'TLSv1.2' : 'refused');
      await site.child.stop();
    },
    60_000,
  );
});
