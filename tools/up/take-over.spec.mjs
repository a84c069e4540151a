import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { eventually, startChild } from '@certwright/testing';
import { bundle, entryPointsOf } from '../build/bundle.mjs';
import { httpProbe, launch, stopChild, untilReady } from '../embedded/child.mjs';
import { freePort } from '../embedded/ports.mjs';
import { isAlive } from '../embedded/process.mjs';
import { keepRunning } from './keep-running.mjs';
import { nodeBinary, workspaceRoot } from './workspace.mjs';
import { offerTakeOver } from './take-over.mjs';

/** Bundling and several starts of Node.js, beside other specs. */
const withinMs = 60_000;
jest.setTimeout(4 * withinMs);

let home;
let projectRoot;
let outdir;
let url;
let environment;
let supervised;
let close;
const lines = [];

/** An app that returns what it knows about itself. */
const writeApp = (version) =>
  writeFileSync(
    path.join(workspaceRoot, projectRoot, 'src/main.ts'),
    `import http from 'node:http';
     const { pid, env } = process;
     const facts = { version: ${version}, pid, parent: process.ppid, key: env['KEY'], cwd: process.cwd() };
     http.createServer((_, response) => response.end(JSON.stringify(facts))).listen(Number(env['PORT']), '127.0.0.1');`,
  );
const facts = async () => await (await fetch(url)).json();
const untilResponse = async (expected) => {
  const check = async () => expect(await facts()).toMatchObject(expected);
  await eventually(check, { withinMs });
  return await facts();
};
const serve = () =>
  startChild(process.execPath, {
    args: ['tools/up/serve.mjs', projectRoot],
    cwd: workspaceRoot,
    env: { CERTWRIGHT_HOME: home, KEY: 'of the terminal' },
  });

beforeEach(async () => {
  lines.splice(0);
  home = mkdtempSync(path.join(process.env.CERTWRIGHT_TEST_RUN, 'serve-'));
  projectRoot = path.relative(workspaceRoot, path.join(home, 'apps/tiny'));
  outdir = `dist/${projectRoot}`;
  mkdirSync(path.join(workspaceRoot, projectRoot, 'src'), { recursive: true });
  writeApp(1);
  await bundle(entryPointsOf(projectRoot), outdir);
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const program = path.join(workspaceRoot, outdir, 'main.js');
  const pidFile = path.join(home, 'run/tiny.pid');
  environment = { ...process.env, PORT: String(port), KEY: 'of npm start', PID_FILE: pidFile };
  const service = {
    name: 'tiny',
    start: async (signal) => {
      const logFile = path.join(home, 'tiny.log');
      const child = await launch({
        command: nodeBinary(),
        args: [program],
        env: environment,
        cwd: home,
        logFile,
        pidFile,
      });
      await untilReady(httpProbe(url), { child, what: 'tiny', withinMs, signal });
      return { child, stop: () => stopChild(child) };
    },
  };
  const report = (line) => lines.push(line);
  supervised = await keepRunning(service, { report, signal: new AbortController().signal });
  const offers = new Map([['tiny', { environment, cwd: home, pidFile, program, supervised }]]);
  close = await offerTakeOver({ socket: path.join(home, 'control.sock'), offers, report });
});
afterEach(async () => {
  await close();
  await supervised.stop();
  rmSync(home, { recursive: true });
  rmSync(path.join(workspaceRoot, outdir), { recursive: true });
});

it('runs the app with the settings of npm start, stops the other copy, and restarts it at the end', async () => {
  const { pid: ours } = await facts();
  const served = await serve();
  const response = await untilResponse({ parent: served.pid });
  expect(response).toMatchObject({ version: 1, key: 'of npm start', cwd: home });
  expect(isAlive(ours)).toBe(false);
  served.signal('SIGTERM');
  expect(await served.ended).toEqual({ code: 0, signal: null });
  const back = await untilResponse({ parent: process.pid });
  expect(isAlive(response.pid)).toBe(false);
  await eventually(() =>
    expect(lines).toEqual([
      'nx serve takes over tiny.',
      'nx serve has released tiny.',
      `tiny is running again (pid ${back.pid}).`,
    ]),
  );
});

it('restarts the app after a change, but not if the build fails', async () => {
  const served = await serve();
  await untilResponse({ parent: served.pid, version: 1 });
  writeApp(2);
  const second = await untilResponse({ version: 2 });
  writeApp('(');
  await served.says(/ERROR/, withinMs);
  expect((await facts()).pid).toBe(second.pid);
  writeApp(3);
  await untilResponse({ version: 3, parent: served.pid });
});

it('restarts the copy of npm start when nx serve is killed, although its process still uses the port', async () => {
  const served = await serve();
  const { pid } = await untilResponse({ parent: served.pid });
  served.signal('SIGKILL');
  await served.ended;
  await untilResponse({ parent: process.pid });
  expect(isAlive(pid)).toBe(false);
});

it('does not stop the copy of npm start before the first good build', async () => {
  const { pid } = await facts();
  writeApp('(');
  const served = await serve();
  await served.says(/ERROR/, withinMs);
  expect((await facts()).pid).toBe(pid);
  writeApp(2);
  await untilResponse({ parent: served.pid, version: 2 });
});

it('ends with npm start, and leaves no process running', async () => {
  const served = await serve();
  const { pid } = await untilResponse({ parent: served.pid });
  await close();
  expect(isAlive(pid)).toBe(false);
  expect(await served.ended).toEqual({ code: 1, signal: null });
  expect(served.output()).toMatch('nx serve tiny: npm start has ended.');
  expect(lines).toEqual(['nx serve takes over tiny.']);
});

it('refuses an app that another nx serve runs, and changes nothing', async () => {
  const first = await serve();
  const { pid } = await untilResponse({ parent: first.pid });
  const second = await serve();
  expect(await second.ended).toEqual({ code: 1, signal: null });
  expect(second.output()).toMatch('nx serve tiny: Another nx serve runs tiny: stop that one first.');
  expect((await facts()).pid).toBe(pid);
});

it('prints one line when npm start is not running', async () => {
  await close();
  const served = await serve();
  expect(await served.ended).toEqual({ code: 1, signal: null });
  expect(served.output()).toBe(
    `npm start is not running with ${home}: run \`npm start\` in another terminal first, then \`npx nx serve tiny\`.\n`,
  );
});

it('has a socket that only the owner may open, and removes it at the end', async () => {
  const socket = path.join(home, 'control.sock');
  expect(statSync(socket).mode & 0o777).toBe(0o600);
  await close();
  expect(existsSync(socket)).toBe(false);
});
