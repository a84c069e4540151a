import { Flushes } from './flushes';

const never = new AbortController().signal;

it('admits three batches at a time, the others in order, and removes a cancelled one', async () => {
  const flushes = new Flushes();
  const begun: number[] = [];
  const leaving = new AbortController();
  const begin = async (nth: number, signal = never) => {
    await flushes.begin(signal);
    begun.push(nth);
  };
  await Promise.all([begin(0), begin(1), begin(2)]);
  const waiting = [begin(3), begin(4, leaving.signal), begin(5)];
  leaving.abort(new Error('the lease is lost'));
  await expect(waiting[1]).rejects.toThrow('the lease is lost');
  expect(begun).toEqual([0, 1, 2]);
  flushes.ended();
  await waiting[0];
  expect(begun).toEqual([0, 1, 2, 3]);
  flushes.ended();
  await waiting[2];
  expect(begun).toEqual([0, 1, 2, 3, 5]);
  for (let each = 0; each < 3; each += 1) flushes.ended();
  await Promise.all([begin(6), begin(7), begin(8)]);
  expect(begun.slice(5)).toEqual([6, 7, 8]);
});
