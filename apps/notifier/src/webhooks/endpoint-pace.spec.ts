import { maxPlaces, maxSlowPlaces, slowAfterMs } from './bounds';
import { firstPace, type Pace, paceAfter, paceWhile } from './endpoint-pace';

const quick = { isDelivered: true, durationMs: 20 };
const slow = { isDelivered: true, durationMs: slowAfterMs };
const failed = { isDelivered: false, durationMs: 5 };

const after = (tries: readonly (typeof quick)[], pace: Pace = firstPace(false)): Pace =>
  tries.reduce(paceAfter, pace);
const times = (count: number, tried: typeof quick) => Array.from({ length: count }, () => tried);

describe('the pace of an endpoint', () => {
  it.each([
    ['one place for an untested one', [], { places: 1, standing: 'untested' }],
    ['one more with each quick success', times(3, quick), { places: 4, standing: 'quick' }],
    ['bounded when all succeed', times(100, quick), { places: maxPlaces, standing: 'quick' }],
    ['few places for slow successes', times(100, slow), { places: maxSlowPlaces, standing: 'doubtful' }],
    [
      'half of the places after a failure',
      [...times(100, quick), failed],
      { places: 8, standing: 'doubtful' },
    ],
    ['never less than one place', times(9, failed), { places: 1, standing: 'doubtful' }],
    ['quick again after a quick success', [failed, quick], { places: 2, standing: 'quick' }],
  ] as const)('is %s', (_, tries, pace) => {
    expect(after(tries)).toEqual(pace);
  });

  it('starts as doubtful when the endpoint is known to be failing', () => {
    expect(firstPace(true)).toEqual({ places: 1, standing: 'doubtful' });
  });

  it('is that of a slow endpoint while a response is overdue', () => {
    const pace = after(times(100, quick));
    expect(paceWhile(pace, slowAfterMs - 1)).toEqual(pace);
    expect(paceWhile(pace, slowAfterMs)).toEqual({ places: maxSlowPlaces, standing: 'doubtful' });
  });
});
