import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually, isAlive } from '@certwright/testing';
import { runCommand } from './run-command';

const environment = { PATH: '/usr/bin:/bin' };
const sh = (script: string) => ['/bin/sh', '-c', script];
let folder: string;
beforeEach(() => void (folder = mkdtempSync(path.join(tmpdir(), 'command-'))));

it('passes arguments without a shell', async () => {
  const result = await runCommand(['printf', '%s', '$(id); `id` && "x"'], { timeoutMs: 10_000, environment });
  expect(result).toMatchObject({ isOk: true, problem: null });
  expect(result.stdout.toString()).toBe('$(id); `id` && "x"');
});

it('reports the exit code with the last output of both streams, on one line', async () => {
  const result = await runCommand(sh('echo first; echo "\u001b[31mbad\u0007 line" >&2; exit 3'), {
    timeoutMs: 10_000,
    environment,
  });
  expect(result.isOk).toBe(false);
  expect(result.problem).toMatch(/^\/bin\/sh returned 3: (?:first \| )?\[31mbad line(?: \| first)?$/);
});

it('reports a program that does not exist', async () => {
  const result = await runCommand(['no-such-program'], { timeoutMs: 10_000, environment });
  expect(result.problem).toBe('no-such-program was not found; write the full path of the program');
});

it('ends the whole group after the time limit, also children that ignore SIGTERM', async () => {
  const file = path.join(folder, 'pids');
  const script = `trap '' TERM; (trap '' TERM; sleep 60) & echo $! > ${file}; echo $$ >> ${file}; sleep 60`;
  const result = await runCommand(sh(script), { timeoutMs: 300, environment });
  expect(result.problem).toBe('/bin/sh did not end within 0.3 s and was ended');
  const pids = readFileSync(file, 'utf8').trim().split('\n').map(Number);
  expect(pids).toHaveLength(2);
  await eventually(() => expect(pids.filter(isAlive)).toEqual([]));
});

it('does not wait for a background process that holds the output, and does not end it', async () => {
  const done = path.join(folder, 'done');
  const go = path.join(folder, 'go');
  // The background process writes to the kept pipe once it may go on: a closed pipe would end it.
  const script = `(while [ ! -e ${go} ]; do sleep 0.05; done; echo late && echo later >&2 && touch ${done}) & exit 0`;
  const begunMs = Date.now();
  const result = await runCommand(sh(script), { timeoutMs: 20_000, environment });
  expect(result.isOk).toBe(true);
  expect(Date.now() - begunMs).toBeLessThan(15_000);
  await runCommand(['touch', go], { timeoutMs: 10_000, environment });
  await eventually(() => expect(existsSync(done)).toBe(true));
});

it('reads endless output and returns a bounded part', async () => {
  const result = await runCommand(sh('yes certwright | head -c 20000000'), {
    timeoutMs: 20_000,
    environment,
    maxOutputBytes: 1000,
  });
  expect(result.isOk).toBe(true);
  expect(result.stdout.length).toBe(1000);
});

it('writes the input and closes it', async () => {
  const result = await runCommand(['cat'], { timeoutMs: 10_000, environment, input: '{"order":"a"}' });
  expect(result.stdout.toString()).toBe('{"order":"a"}');
});

it('has its own environment and no other', async () => {
  const result = await runCommand(['env'], { timeoutMs: 10_000, environment });
  expect(result.stdout.toString()).toBe('PATH=/usr/bin:/bin\n');
});
