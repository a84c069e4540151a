import { Batches } from './batches';

describe('batches', () => {
  it('run one at a time; items that arrive meanwhile form the next one, up to its limit', async () => {
    const ran: number[][] = [];
    const release: (() => void)[] = [];
    const batches = new Batches<number, number>(2, async (items) => {
      ran.push([...items]);
      await new Promise<void>((resolve) => release.push(resolve));
      return items.map((item) => item * 10);
    });
    const results = [1, 2, 3, 4].map(async (item) => await batches.add(item));
    expect(ran).toEqual([[1]]);
    for (let each = 0; each < 3; each += 1) {
      release.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(ran).toEqual([[1], [2, 3], [4]]);
    expect(await Promise.all(results)).toEqual([10, 20, 30, 40]);
  });

  it('fail together, and the next one still runs', async () => {
    const batches = new Batches<number, number>(10, async (items) => {
      if (items.includes(1)) throw new Error('no database');
      return await Promise.resolve(items);
    });
    await expect(batches.add(1)).rejects.toThrow('no database');
    expect(await batches.add(2)).toBe(2);
  });
});
