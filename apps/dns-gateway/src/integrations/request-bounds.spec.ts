import { RequestBounds, within } from './request-bounds';

const forever = (): Promise<never> => new Promise(() => undefined);

describe('the bounds of requests', () => {
  it('abort the signal of a request after its time limit', async () => {
    const bounds = new RequestBounds({ timeMs: 20, maxConcurrent: 1 });
    await expect(bounds.run((signal) => within(signal, forever()))).rejects.toMatchObject({
      name: 'TimeoutError',
    });
  });

  it('limit concurrent requests and refuse the next with a time to wait', async () => {
    const bounds = new RequestBounds({ timeMs: 5_000, maxConcurrent: 2 });
    const ends: (() => void)[] = [];
    const one = () => bounds.run(() => new Promise<void>((resolve) => ends.push(resolve)));
    const running = [one(), one()];
    await expect(one()).rejects.toMatchObject({ code: 'service_outage', retryAfterS: 1 });
    for (const end of ends) end();
    await Promise.all(running);
    await expect(bounds.run(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect(await bounds.run(() => Promise.resolve('room again'))).toBe('room again');
  });
});

describe('within a signal', () => {
  it('returns a result that precedes the signal', async () => {
    const abort = new AbortController();
    expect(await within(abort.signal, Promise.resolve(7))).toBe(7);
    abort.abort(new Error('late'));
  });

  it('returns no result when the signal came first', async () => {
    await expect(within(AbortSignal.abort(new Error('over')), forever())).rejects.toThrow('over');
  });

  it('ignores a failure after the signal', async () => {
    let fail: (error: Error) => void = () => undefined;
    const pending = new Promise<never>((_resolve, reject) => (fail = reject));
    await expect(within(AbortSignal.timeout(5), pending)).rejects.toMatchObject({ name: 'TimeoutError' });
    fail(new Error('too late to matter'));
  });
});
