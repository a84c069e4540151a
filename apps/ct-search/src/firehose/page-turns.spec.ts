import { setTimeout as pause } from 'node:timers/promises';
import { Problem } from '@certwright/errors';
import { PageTurns } from './page-turns';

/** Longer than the spec. */
const longMs = 60_000;

/** Pages that end when `end` is called. */
function pages() {
  const turns = new PageTurns();
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const request = async (name: string, accountId: string, timeLimitMs = longMs) =>
    await turns.run({ accountId, timeLimitMs }, async () => {
      begun.push(name);
      await new Promise<void>((end) => ends.set(name, end));
      return name;
    });
  const end = async (name: string) => {
    ends.get(name)?.();
    await pause(0);
  };
  return { turns, begun, request, end };
}

it('waits no longer than the time limit of the request', async () => {
  const { begun, request, end } = pages();
  const [first, second] = [request('first', 'a'), request('second', 'a')];
  await expect(request('late', 'a', 10)).rejects.toMatchObject({ code: 'timeout' });
  const third = request('third', 'a');
  await end('first');
  for (const name of ['second', 'third']) await end(name);
  expect(await Promise.all([first, second, third])).toEqual(['first', 'second', 'third']);
  expect(begun).toEqual(['first', 'second', 'third']);
});

it('reports an outage to requests that it delayed until they expired', async () => {
  const { turns, request, end } = pages();
  const outage = new Problem('service_outage', 'The service is temporarily unavailable.');
  const failing = turns.run(
    { accountId: 'a', timeLimitMs: longMs },
    async () => await Promise.reject(outage),
  );
  await expect(failing).rejects.toBe(outage);
  const [first, second] = [request('first', 'a'), request('second', 'a')];
  await expect(request('late', 'a', 10)).rejects.toBe(outage);
  for (const name of ['first', 'second']) await end(name);
  await Promise.all([first, second]);
  const [third, fourth] = [request('third', 'a'), request('fourth', 'a')];
  await expect(request('late', 'a', 10)).rejects.toMatchObject({ code: 'timeout' });
  for (const name of ['third', 'fourth']) await end(name);
  await Promise.all([third, fourth]);
});

it('gives the turn of a page that failed to the next one', async () => {
  const { turns, request, end } = pages();
  const failing = async () =>
    await turns.run(
      { accountId: 'a', timeLimitMs: longMs },
      async () => await Promise.reject(new Error('lost')),
    );
  for (let nth = 0; nth < 4; nth += 1) await expect(failing()).rejects.toThrow('lost');
  const page = request('page', 'a');
  await pause(0);
  await end('page');
  expect(await page).toBe('page');
});
