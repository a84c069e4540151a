import { ClientClocks } from './client-clocks';

const date = (aheadMs: number) => new Date(Date.now() + aheadMs).toUTCString();
const offsetMs = (clocks: ClientClocks) => (clocks.serverTime()?.serverTimeMs ?? NaN) - Date.now();

it('compares the clock with that of the client that is closest to it', () => {
  const clocks = new ClientClocks();
  expect(clocks.serverTime()).toBeUndefined();
  clocks.saw('admin', date(-3_600_000));
  expect(offsetMs(clocks)).toBeLessThan(-3_590_000);
  clocks.saw('issuance-worker', date(0));
  expect(Math.abs(offsetMs(clocks))).toBeLessThan(30_000);
  clocks.saw('issuance-worker', date(600_000));
  expect(offsetMs(clocks)).toBeGreaterThan(590_000);
});

it('ignores requests without a date', () => {
  const clocks = new ClientClocks();
  clocks.saw('orders-v3', undefined);
  clocks.saw('orders-v3', 'yesterday');
  expect(clocks.serverTime()).toBeUndefined();
});
