import { chooseMerge, type MergeLane } from './choose-merge';
import type { Run } from '@certwright/ct-schema';

const today = 20_000;
const partition = 1_000_000;
const usual = { home: 0, partition, halfExpiredDay: null };

/** An index to which nothing but its runs is real. */
class Runs {
  runs: Run[] = [];
  written = 0;
  private id = 0;
  private position = 1;

  commit(postings: number, level = 0): void {
    const from = this.position++;
    this.runs.push({ ...usual, id: this.id++, level, from, to: this.position, postings });
  }

  merge(lane: MergeLane, next = this.position): boolean {
    const merge = chooseMerge(this.runs, lane, { next, today });
    if (merge === null) return false;
    const { sources, level, home } = merge;
    const [first, last] = [sources[0], sources.at(-1)];
    if (first === undefined || last === undefined) throw new Error('nothing to merge');
    const at = this.runs.indexOf(first);
    expect(this.runs.slice(at, at + sources.length)).toEqual(sources);
    const postings = sources.reduce((sum, run) => sum + run.postings, 0);
    this.written += postings;
    const merged = { ...usual, id: this.id++, level, home, from: first.from, to: last.to, postings };
    this.runs.splice(at, sources.length, merged);
    return true;
  }

  settle(next?: number): void {
    while (this.merge('small', next) || this.merge('large', next));
  }
}

it('keeps runs few while commits are small, and writes a posting again once for each level', () => {
  const index = new Runs();
  let [most, sum] = [0, 0];
  for (let commit = 0; commit < 40_000; commit += 1) {
    index.commit(8);
    index.settle();
    most = Math.max(most, index.runs.length);
    sum += index.runs.length;
  }
  // Three of each of eight levels at most.
  expect(most).toBeLessThanOrEqual(24);
  expect(sum / 40_000).toBeLessThan(12);
  expect(index.written / (40_000 * 8)).toBeLessThan(7);
});

it('brings thousands of runs together at once after an hour without a merger', () => {
  const index = new Runs();
  for (let commit = 0; commit < 3_600; commit += 1) index.commit(8);
  index.settle();
  expect(index.runs.length).toBeLessThanOrEqual(20);
  expect(index.written / (3_600 * 8)).toBeLessThan(2.1);
});

it('brings runs together that an earlier release left, which merged eight of a level', () => {
  const index = new Runs();
  for (const level of [5, 4, 3, 2, 1, 0])
    for (let run = 0; run < 7; run += 1) index.commit(8 ** (level + 1), level);
  const postings = index.runs.reduce((sum, run) => sum + run.postings, 0);
  index.settle();
  expect(index.runs.length).toBeLessThanOrEqual(6);
  expect(index.written / postings).toBeLessThan(1.5);
});

it('takes no more than two million postings at once, but for runs that are large themselves', () => {
  const index = new Runs();
  for (let commit = 0; commit < 400; commit += 1) index.commit(15_000);
  const merge = chooseMerge(index.runs, 'small', { next: 500, today });
  expect(merge?.sources).toHaveLength(133);
  index.settle();
  expect(index.runs.length).toBeLessThanOrEqual(16);
});

it('leaves large runs to the other lane', () => {
  const index = new Runs();
  for (let commit = 0; commit < 8 * 64; commit += 1) {
    index.commit(1);
    while (index.merge('small'));
  }
  expect(index.runs.map(({ level }) => level)).toEqual(Array(8).fill(3));
  expect(index.merge('small')).toBe(false);
  expect(index.merge('large')).toBe(true);
  expect(index.runs.map(({ level }) => level)).toEqual([4]);
});

describe('a partition that is full', () => {
  const full = () => {
    const index = new Runs();
    for (let commit = 0; commit < 11; commit += 1) index.commit(1);
    return index;
  };

  it('becomes one run in a table of its own', () => {
    const index = full();
    index.settle(partition);
    expect(index.runs).toMatchObject([{ home: partition, from: 1, to: 12 }]);
    expect(index.merge('large', partition)).toBe(false);
  });

  it('is left alone by the small lane, and while a position in it is still to be given', () => {
    expect(full().merge('small', partition)).toBe(false);
    const index = full();
    index.settle(partition - 1);
    expect(index.runs).toMatchObject([{ home: 0, level: 1, from: 1, to: 12 }]);
  });

  it('is written again once half of its postings have expired', () => {
    const index = full();
    index.settle(partition);
    const expiring = (halfExpiredDay: number) => index.runs.map((run) => ({ ...run, halfExpiredDay }));
    const choose = (runs: readonly Run[]) => chooseMerge(runs, 'large', { next: partition, today });
    expect(choose(expiring(today))).toBeNull();
    expect(choose(expiring(today - 1))).toMatchObject({ home: partition, sources: [{ to: 12 }] });
  });
});
