import { mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Child, startChild } from '@certwright/testing';
import { DiskFiles } from '../files/disk-files';
import type { Files } from '../files/files';
import { LockedFault, lockState } from './host-lock';

let state: string;
const children: Child[] = [];
beforeEach(() => void (state = mkdtempSync(path.join(tmpdir(), 'agent-lock-'))));
afterEach(async () => {
  for (const child of children.splice(0)) await child.stop();
  rmSync(state, { recursive: true });
});

const disk = new DiskFiles();

/** A process in the place of an agent. */
async function newAgent(): Promise<Child> {
  const child = await startChild('/bin/sleep', { args: ['600'] });
  children.push(child);
  return child;
}

async function end(agent: Child): Promise<void> {
  agent.signal('SIGKILL');
  await agent.ended;
}

/** The disk, with something that happens after that many calls. */
function interrupted(calls: number, happens: () => void): Files {
  let left = calls;
  return new Proxy<Files>(disk, {
    get: (target, name: keyof Files) => {
      const call = target[name].bind(target) as (...args: unknown[]) => unknown;
      return (...args: unknown[]) => {
        if (left-- === 0) happens();
        return call(...args);
      };
    },
  });
}

const stops = () => {
  throw new Error('the agent has ended');
};

/** An agent that has the lock, ends, and leaves it. */
async function leaveLock(): Promise<void> {
  const agent = await newAgent();
  lockState(disk, state, agent.pid);
  await end(agent);
}

/** The same, and another that ends while it takes over. */
async function leaveTakeover(): Promise<void> {
  await leaveLock();
  const agent = await newAgent();
  expect(() => lockState(interrupted(4, stops), state, agent.pid)).toThrow('the agent has ended');
  await end(agent);
  expect(readdirSync(state)).toHaveLength(2);
}

it.each([
  ['no lock', async () => undefined],
  ['the lock of one that has ended', leaveLock],
  ['the locks of two that have ended', leaveTakeover],
  ['a file that is not a lock', async () => writeFileSync(path.join(state, 'lock'), '')],
])(
  'of three agents that start at the same time, one takes the state: %s',
  async (_, leave) => {
    const agents = await Promise.all([newAgent(), newAgent(), newAgent()]);
    const [first = 0, second = 0, third = 0] = agents.map(({ pid }) => pid);
    await leave();
    const left = readdirSync(state, { withFileTypes: true });
    const targets = left.map((each) =>
      each.isSymbolicLink() ? readlinkSync(path.join(state, each.name)) : null,
    );
    const leaveAgain = () =>
      left.forEach(({ name }, index) => {
        const [file, target] = [path.join(state, name), targets[index] ?? null];
        rmSync(file, { force: true });
        if (target === null) writeFileSync(file, '');
        else symlinkSync(target, file);
      });
    for (let calls = 0, wasInterrupted = true; wasInterrupted; calls++) {
      wasInterrupted = false;
      for (let callsOfSecond = 0; callsOfSecond < 12; callsOfSecond++) {
        leaveAgain();
        const held: { release(): void }[] = [];
        const start = (files: Files, pid: number) => {
          try {
            held.push(lockState(files, state, pid));
          } catch (error) {
            if (!(error instanceof LockedFault)) throw error;
          }
        };
        const startSecond = () => {
          wasInterrupted = true;
          start(
            interrupted(callsOfSecond, () => start(disk, third)),
            second,
          );
        };
        start(interrupted(calls, startSecond), first);
        expect({ calls, callsOfSecond, held: held.length }).toEqual({ calls, callsOfSecond, held: 1 });
        held[0]?.release();
        expect(readdirSync(state)).toEqual([]);
      }
      expect(calls).toBeLessThan(50);
    }
  },
  120_000,
);

it('an agent that ends at any moment of a takeover leaves the state to the next one', async () => {
  for (let calls = 0, hasEnded = true; hasEnded; calls++) {
    await leaveLock();
    const [agent, next] = [await newAgent(), await newAgent()];
    hasEnded = false;
    const stop = () => {
      hasEnded = true;
      stops();
    };
    try {
      lockState(interrupted(calls, stop), state, agent.pid);
    } catch (error) {
      if (!hasEnded) throw error;
    }
    await end(agent);
    const lock = lockState(disk, state, next.pid);
    expect(() => lockState(disk, state)).toThrow(`another agent (process ${next.pid}) uses ${state}`);
    lock.release();
    expect(readdirSync(state)).toEqual([]);
  }
}, 120_000);
