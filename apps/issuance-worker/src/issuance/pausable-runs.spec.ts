import { eventually } from '@certwright/testing';
import { type Pause, PausableRuns } from './pausable-runs';

const errors: unknown[] = [];
const runs = (slots: number) => new PausableRuns(slots, (error) => errors.push(error));

/** A run whose steps the test controls. */
class Steps {
  readonly log: string[] = [];

  /** Begins a run that pauses once, and lasts until `go` after it. */
  run(name: string, forMs: number, go = Promise.resolve()) {
    return async (pause: Pause) => {
      this.log.push(`${name} begins`);
      const isOver = await pause(forMs);
      this.log.push(`${name} ${isOver ? 'continues' : 'is to end'}`);
      await go;
      this.log.push(`${name} ends`);
    };
  }
}

beforeEach(() => void errors.splice(0));

it('a paused run leaves its slot to another one, and continues', async () => {
  const [all, steps] = [runs(1), new Steps()];
  await all.start(steps.run('first', 20));
  await all.start(async () => await Promise.resolve(void steps.log.push('second')));
  expect(steps.log).toEqual(['first begins', 'second']);
  await eventually(() => expect(steps.log).toHaveLength(4));
  expect(steps.log.slice(2)).toEqual(['first continues', 'first ends']);
});

it('never has more runs in progress than slots, and those that pause continue before new ones begin', async () => {
  const [all, steps] = [runs(1), new Steps()];
  const [held, after] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await all.start(steps.run('paused', 0, after.promise));
  const holding = all.start(async () => await held.promise);
  const waiting = all.start(async () => await Promise.resolve(void steps.log.push('new')));
  // The pause is over, and no slot is free: a later timer of as long has ended.
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect(steps.log).toEqual(['paused begins']);
  held.resolve();
  await eventually(() => expect(steps.log).toEqual(['paused begins', 'paused continues']));
  after.resolve();
  await Promise.all([holding, waiting]);
  expect(steps.log).toEqual(['paused begins', 'paused continues', 'paused ends', 'new']);
});

it('a run that fails before a pause fails for its caller, and later ones are reported; both free their slot', async () => {
  const all = runs(1);
  await expect(all.start(async () => await Promise.reject(new Error('early')))).rejects.toThrow('early');
  await all.start(async (pause) => {
    await pause(0);
    throw new Error('late');
  });
  await all.start(async () => await Promise.resolve());
  await eventually(() => expect(errors).toEqual([new Error('late')]));
});

it('ends pauses and allows no more when the process stops, and waits for the runs', async () => {
  const [all, steps] = [runs(2), new Steps()];
  await all.start(steps.run('first', 60_000));
  all.onModuleDestroy();
  await all.start(steps.run('second', 60_000));
  await all.beforeApplicationShutdown();
  expect(steps.log).toEqual(
    expect.arrayContaining(['first is to end', 'first ends', 'second is to end', 'second ends']),
  );
});

it('refuses pauses when too many runs are paused', async () => {
  const [all, results] = [runs(1), [] as boolean[]];
  for (let count = 0; count < 65; count += 1)
    await all.start(async (pause) => void results.push(await pause(60_000)));
  expect(results).toEqual([false]);
  all.onModuleDestroy();
  await all.beforeApplicationShutdown();
  expect(results).toHaveLength(65);
});
