import { releaseAfterOutage } from './release-after-outage';

const unreachable = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const busy = Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' });
const ours = Object.assign(new Error('column does not exist'), { code: '42703' });
const aLongTimeMs = 60_000;

describe('releaseAfterOutage', () => {
  it('repeats the release until the database is back', async () => {
    const release = jest.fn().mockRejectedValueOnce(unreachable).mockRejectedValueOnce(unreachable);
    await releaseAfterOutage(unreachable, release, { forMs: aLongTimeMs, everyMs: 0 });
    expect(release).toHaveBeenCalledTimes(3);
  });

  it.each([
    ['the database was too busy', busy],
    ['the fault is ours', ours],
  ])('releases nothing when %s', async (_when, error) => {
    const release = jest.fn();
    await releaseAfterOutage(error, release, { forMs: aLongTimeMs });
    expect(release).not.toHaveBeenCalled();
  });

  it.each([
    ['the lease is over', unreachable, { forMs: 0 }],
    ['the process stops', unreachable, { forMs: aLongTimeMs, signal: AbortSignal.abort() }],
    ['the database refuses it', ours, { forMs: aLongTimeMs }],
  ])('gives up without an error when %s', async (_when, error, options) => {
    const release = jest.fn().mockRejectedValue(error);
    await releaseAfterOutage(unreachable, release, options);
    expect(release).toHaveBeenCalledTimes(1);
  });

  it('gives up during a pause when the process stops', async () => {
    const stopping = new AbortController();
    const release = jest.fn().mockRejectedValue(unreachable);
    const options = { forMs: aLongTimeMs, everyMs: aLongTimeMs, signal: stopping.signal };
    const ended = releaseAfterOutage(unreachable, release, options);
    stopping.abort();
    await ended;
    expect(release).toHaveBeenCalledTimes(1);
  });
});
