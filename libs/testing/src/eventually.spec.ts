import { eventually } from './eventually';

it('returns the value of the first attempt that holds', async () => {
  let attempts = 0;
  const value = await eventually(
    () => {
      attempts += 1;
      if (attempts < 3) throw new Error('not yet');
      return attempts;
    },
    { everyMs: 1 },
  );
  expect(value).toBe(3);
});

it('fails with the last error when the time is up', async () => {
  const never = () => expect('pending').toBe('valid');
  await expect(eventually(never, { withinMs: 20, everyMs: 5 })).rejects.toThrow(
    /still so after \d+ ms.*pending/s,
  );
});

it('makes one last attempt when waiting longer is useless', async () => {
  const seen: string[] = [];
  const attempt = () => {
    seen.push('attempt');
    throw new Error('gone');
  };
  await expect(eventually(attempt, { withinMs: 60_000, isHopeless: () => true })).rejects.toThrow('gone');
  expect(seen).toHaveLength(1);
});
