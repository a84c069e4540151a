import { Batches } from './batches';

describe('batches', () => {
  const turn = async () => await new Promise((resolve) => setImmediate(resolve));

  it('run one at a time: first the items of one turn, then those that arrived meanwhile, up to a limit', async () => {
    const ran: number[][] = [];
    const release: (() => void)[] = [];
    const batches = new Batches<number, number>(2, async (items) => {
      ran.push([...items]);
      await new Promise<void>((resolve) => release.push(resolve));
      return items.map((item) => item * 10);
    });
    const add = async (item: number) => await batches.add(item);
    const results = [1, 2].map(add);
    await turn();
    expect(ran).toEqual([[1, 2]]);
    results.push(...[3, 4, 5].map(add));
    for (let each = 0; each < 3; each += 1) {
      release.shift()?.();
      await turn();
    }
    expect(ran).toEqual([[1, 2], [3, 4], [5]]);
    expect(await Promise.all(results)).toEqual([10, 20, 30, 40, 50]);
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
