import { sideBySide } from './side-by-side';

it('starts nothing more after a failure, and rejects with it', async () => {
  const begun: number[] = [];
  const numbers = Array.from({ length: 20 }, (_, index) => index);
  const work = async (item: number) => {
    begun.push(item);
    await Promise.resolve();
    if (item === 1) throw new Error('the second fails');
    await new Promise((resolve) => setImmediate(resolve));
  };
  await expect(sideBySide(4, numbers, work)).rejects.toThrow('the second fails');
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toEqual([0, 1, 2, 3]);
});
