import { memoryShares } from './memory-shares';

const mebibyte = 1_048_576;

it.each([
  [384, 16],
  [384, 200],
  [512, 1],
  [512, 56],
  [65_536, 208],
])('shares %i MiB out so that %i logs never need more than there is', (limit, wanted) => {
  const { logs, responses, batch, whileEntryIsRead, whilePageIsRead, maxPage } = memoryShares(limit, wanted);
  expect(logs).toBeLessThanOrEqual(wanted);
  // In addition to 200 MiB for the process itself.
  expect(logs * (responses + batch)).toBeLessThanOrEqual((limit - 200) * mebibyte);
  // Each log can read the longest indexed entry without waiting for another log, and several ordinary responses in parallel.
  expect(whileEntryIsRead).toBeLessThanOrEqual(responses);
  expect(whilePageIsRead * 3).toBeLessThanOrEqual(responses);
  expect(maxPage).toBeGreaterThan(mebibyte);
});

it('has room for the default number of logs, and the additional ones, at the min limit', () => {
  expect(memoryShares(384, 16).logs).toBe(16);
});
