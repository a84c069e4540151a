import { eventually } from './eventually';
import { type Child, isAlive, startChild } from './child';

const node = (program: string) => startChild(process.execPath, { args: ['-e', program] });

it('tells what the process said and how it ended', async () => {
  const child = await node('console.log("ready"); process.exitCode = 3');
  await child.says(/^ready$/m);
  expect(await child.ended).toEqual({ code: 3, signal: null });
});

it('kills as a crash does', async () => {
  const child = await node('setInterval(() => {}, 1000); console.log("ready")');
  await child.says(/ready/);
  child.signal('SIGKILL');
  expect(await child.ended).toEqual({ code: null, signal: 'SIGKILL' });
});

it('stops a process that is frozen', async () => {
  const child = await node('setInterval(() => {}, 1000); console.log("ready")');
  await child.says(/ready/);
  child.signal('SIGSTOP');
  expect(await child.stop()).toEqual({ code: null, signal: 'SIGTERM' });
});

it('kills a process that ignores SIGTERM, and what it started', async () => {
  const child = await node(`
    process.on('SIGTERM', () => {});
    const { pid } = require('child_process').spawn('sleep', ['60'], { stdio: 'ignore' });
    console.log('started ' + pid);
  `);
  await child.says(/started \d+/);
  const grandchild = Number(/started (\d+)/.exec(child.output())?.[1]);
  expect(isAlive(grandchild)).toBe(true);
  expect(await child.stop(50)).toEqual({ code: null, signal: 'SIGKILL' });
  await eventually(() => expect(isAlive(grandchild)).toBe(false));
});

it('does not wait for output of a process that has ended', async () => {
  const child = await node('console.log("something else")');
  await expect(child.says(/ready/, 60_000)).rejects.toThrow(/not in the output.*something else/s);
});

it('rejects when there is no such program', async () => {
  await expect(startChild('/nonexistent/program')).rejects.toThrow('ENOENT');
});

let left: Child;

describe('what a spec file leaves running', () => {
  it('is still running after its test', async () => {
    left = await node('setInterval(() => {}, 1000); console.log("ready")');
    await left.says(/ready/);
    expect(isAlive(left.pid)).toBe(true);
  });

  // A describe's own hook runs before the file's, which came with the import and does the killing.
  afterAll(() => expect(isAlive(left.pid)).toBe(true));
});

// Hooks run in the order of their definition, so this one comes after the killing; a failure fails the file.
afterAll(() => expect(isAlive(left.pid)).toBe(false));
