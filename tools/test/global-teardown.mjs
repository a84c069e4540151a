// @ts-check
// Once per Jest run, after the last spec, failed or not.
export default async function tearDown() {
  const { stopTestServices } = /** @type {{ stopTestServices?: () => Promise<void> }} */ (globalThis);
  await stopTestServices?.();
}
