import { setTimeout as pause } from 'node:timers/promises';
import { keepRunning, pauseMs } from './keep-running.mjs';

/** A service whose processes end when the spec says so. */
function fakeService({ failures = 0 } = {}) {
  const starts = [];
  const service = {
    name: 'app',
    start: async () => {
      if (starts.length > 0 && failures-- > 0) throw new Error('not ready');
      const process = { pid: starts.length + 1 };
      const ended = new Promise((resolve) => (process.end = resolve));
      starts.push(process);
      return { child: { pid: process.pid, ended }, stop: async () => process.end('exit code 0') };
    },
  };
  return { service, starts };
}

const lines = [];
const how = { report: (line) => lines.push(line), signal: new AbortController().signal };
const until = async (word) => {
  while (!lines.some((line) => line.includes(word))) await pause(5);
};

beforeEach(() => lines.splice(0));

it('pauses longer after each consecutive exit, up to 30 s', () => {
  expect([1, 2, 3, 4, 5, 6, 7, 8, 50].map(pauseMs)).toEqual([
    500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000,
  ]);
});

it('restarts a process that exited, and reports it', async () => {
  const { service, starts } = fakeService();
  const { stop } = await keepRunning(service, how);
  starts[0].end('signal SIGKILL');
  await until('running again');
  expect(lines).toEqual([
    'app exited (signal SIGKILL).',
    'Restarting app in 0.5 s.',
    'app is running again (pid 2).',
  ]);
  await stop();
});

it('retries when the restart fails', async () => {
  const { service, starts } = fakeService({ failures: 1 });
  const { stop } = await keepRunning(service, how);
  starts[0].end('exit code 1');
  await until('running again');
  expect(lines.slice(1, 4)).toEqual(['Restarting app in 0.5 s.', 'not ready', 'Restarting app in 1 s.']);
  await stop();
});

it('does not restart after a stop, even during a pause', async () => {
  const { service, starts } = fakeService();
  const { stop } = await keepRunning(service, how);
  starts[0].end('exit code 1');
  await until('Restarting');
  await stop();
  expect(starts).toHaveLength(1);
});

it('stays stopped until it is resumed, and then starts without a pause', async () => {
  const { service, starts } = fakeService();
  const { stop, resume } = await keepRunning(service, how);
  await stop();
  expect(starts).toHaveLength(1);
  resume();
  await until('running again');
  expect(lines).toEqual(['app is running again (pid 2).']);
  await stop();
  expect(starts).toHaveLength(2);
});

it('retries when a resumed service does not become ready', async () => {
  const { service, starts } = fakeService({ failures: 1 });
  const { stop, resume } = await keepRunning(service, how);
  await stop();
  resume();
  await until('running again');
  expect(lines).toEqual(['not ready', 'Restarting app in 0.5 s.', 'app is running again (pid 2).']);
  await stop();
  expect(starts).toHaveLength(2);
});

it('stops a process that becomes ready during the stop', async () => {
  let ready;
  const processes = [];
  const service = {
    name: 'app',
    start: async () => {
      if (processes.length > 0) await new Promise((resolve) => (ready = resolve));
      let end;
      const ended = new Promise((resolve) => (end = resolve));
      const stop = async () => end('exit code 0');
      processes.push({ ended, end });
      return { child: { pid: processes.length, ended }, stop };
    },
  };
  const { stop } = await keepRunning(service, how);
  processes[0].end('exit code 1');
  while (ready === undefined) await pause(5);
  const stopped = stop();
  ready();
  await stopped;
  await processes[1].ended;
});

it('rejects when the first start fails', async () => {
  const service = { name: 'app', start: () => Promise.reject(new Error('bad setting')) };
  await expect(keepRunning(service, how)).rejects.toThrow('bad setting');
});
