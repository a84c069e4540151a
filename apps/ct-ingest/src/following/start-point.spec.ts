import { readStart, startIndex } from './start-point';

const day = (nth: number) => Date.UTC(2026, 0, 1 + nth);
/** A log with one entry per day; null: an unreadable one. */
const started = async (text: string, entries: readonly (number | null)[]) => {
  const start = readStart(text);
  if (start === null) throw new Error('no start');
  const reads: number[] = [];
  const index = await startIndex(start, entries.length, async (at) => {
    reads.push(at);
    return await Promise.resolve(entries[at] ?? null);
  });
  return { index, reads: reads.length };
};
const days = (count: number) => Array.from({ length: count }, (_, nth) => day(nth));

describe('a date', () => {
  it('starts at the first entry that is not older', async () => {
    expect(await started('2026-01-11', days(1_000))).toEqual({ index: 10, reads: 10 });
    expect((await started('2026-01-11T00:00:00.001Z', days(20))).index).toBe(11);
    expect((await started('2025-01-01', days(20))).index).toBe(0);
    expect((await started('2027-01-01', days(20))).index).toBe(20);
    expect((await started('2026-01-01', [])).index).toBe(0);
  });

  it('skips no entry that is recent enough, even next to unreadable entries', async () => {
    const wanted = 600;
    for (const holes of [[499], [wanted], [wanted - 1], [749, 750], days(1_000).map((_, at) => at)]) {
      const entries = days(1_000).map((at, nth) => (holes.includes(nth) ? null : at));
      const { index, reads } = await started(new Date(day(wanted)).toISOString(), entries);
      expect(index).toBeLessThanOrEqual(wanted);
      expect(reads).toBeLessThanOrEqual(10);
    }
  });

  it.each(['yesterday', '2026-13-01', '2026-01-01T', '-1', '1e3', '2026-01-01T10:00:00', ''])(
    'rejects %j as a date or any other start',
    (text) => expect(readStart(text)).toBeNull(),
  );
});
