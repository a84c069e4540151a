import { currentDatabaseTime, DatabaseTime, withinDatabaseTime, withoutDatabaseTime } from './database-time';

describe('the time that a request may wait for the database', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('is the sum over its statements; the time between them does not count', () => {
    const time = new DatabaseTime(4_000);
    for (const leftMs of [3_000, 2_000]) {
      const end = time.wait();
      jest.advanceTimersByTime(1_000);
      end();
      end();
      jest.advanceTimersByTime(60_000);
      expect(time.leftMs).toBe(leftMs);
    }
  });

  it('counts statements at the same time once', () => {
    const time = new DatabaseTime(4_000);
    const ends = [time.wait(), time.wait()];
    jest.advanceTimersByTime(1_000);
    expect(time.leftMs).toBe(3_000);
    for (const end of ends) end();
    expect(time.leftMs).toBe(3_000);
  });

  it('reserves some time for a ROLLBACK', () => {
    const time = new DatabaseTime(1_000);
    const end = time.wait();
    jest.advanceTimersByTime(5_000);
    end();
    expect(time.leftMs).toBe(300);
  });

  it('applies to everything that the request starts, except on behalf of others', async () => {
    await withinDatabaseTime(1_000, async () => {
      await Promise.resolve();
      expect(currentDatabaseTime()?.leftMs).toBe(1_000);
      withoutDatabaseTime(() => expect(currentDatabaseTime()).toBeNull());
    });
    expect(currentDatabaseTime()).toBeNull();
  });
});
