import { repeat } from './repeating';

const aLongTimeMs = 60_000;

describe('repeat', () => {
  it('goes on after a round that threw, which is reported', async () => {
    const reported: unknown[] = [];
    let rounds = 0;
    await new Promise<void>((resolve) => {
      const round = async () => {
        rounds += 1;
        if (rounds === 1) throw new Error('the first one');
        if (rounds === 3) resolve();
        return await Promise.resolve(rounds === 3 ? aLongTimeMs : 0);
      };
      const repeating = repeat(round, { afterErrorMs: 0, onError: (error) => reported.push(error) });
      undo.push(repeating.stop);
    });
    expect(reported).toEqual([new Error('the first one')]);
  });

  it('stops in the middle of a wait, and not before the round that runs has ended', async () => {
    let finish: (waitMs: number) => void = () => undefined;
    let ended = false;
    const round = async () => {
      const waitMs = await new Promise<number>((resolve) => (finish = resolve));
      ended = true;
      return waitMs;
    };
    const repeating = repeat(round, { afterErrorMs: 0, onError: () => undefined });
    const stopped = repeating.stop().then(() => ended);
    finish(aLongTimeMs);
    expect(await stopped).toBe(true);
  });
});

const undo: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0)) await step();
});
