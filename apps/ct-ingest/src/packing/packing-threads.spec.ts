import { Worker } from 'node:worker_threads';
import { type NewIssuance, packBody, unpackBody } from '@certwright/ct-index';
import { forgePair, issuerDer } from '../testing/forged-entries';
import { PackingThreads } from './packing-threads';

const opened: PackingThreads[] = [];
const faults: unknown[] = [];
/** Messages to threads, by thread. */
const sent = jest.spyOn(Worker.prototype, 'postMessage');
const threads = () => [...new Set(sent.mock.contexts as Worker[])];
afterEach(async () => {
  await Promise.all(opened.splice(0).map(async (each) => await each.close()));
  faults.length = 0;
  sent.mockClear();
});

function packing(count: number): PackingThreads {
  const packer = new PackingThreads(count, (fault) => faults.push(fault));
  opened.push(packer);
  return packer;
}

/** Only the body is used. */
const withBody = (der: Buffer) => ({ body: packBody(der, 'none') }) as NewIssuance;
const bodies = (issuances: readonly NewIssuance[]) => issuances.map(({ body }) => body);

const some = (count: number, padding = 0): Buffer[] =>
  Array.from({ length: count }, (_, nth) => forgePair(nth, { padding }).certificate.leafDer);
const short = Buffer.from('f3a9c1d2e5b7', 'hex');
const ders = [...some(200), short, issuerDer, Buffer.alloc(0), ...some(3, 100_000)];

it.each([0, 1, 2])('packs with %i threads as without, in order', async (count) => {
  const packer = packing(count);
  const [first, second] = await Promise.all([
    packer.pack(ders.map(withBody)),
    packer.pack(ders.toReversed().map(withBody)),
  ]);
  expect(threads()).toHaveLength(count);
  const expected = ders.map((der) => packBody(der, 'deflate'));
  expect(bodies(first)).toEqual(expected);
  expect(bodies(second)).toEqual(expected.toReversed());
  expect(await packer.pack([])).toEqual([]);
});

it('changes only the body of an issuance', async () => {
  const issuance = { ...withBody(issuerDer), dnsNames: ['example.com'] };
  const [packed] = await packing(1).pack([issuance]);
  expect(packed).toEqual({ dnsNames: ['example.com'], body: packBody(issuerDer, 'deflate') });
  expect(unpackBody(issuance.body)).toEqual(issuerDer);
});

it('packs the rest in other threads, and finally in the process itself, when threads end unexpectedly', async () => {
  const packer = packing(2);
  for (const nth of [0, 1]) {
    const packed = packer.pack(ders.map(withBody));
    await threads()[nth]?.terminate();
    expect(bodies(await packed)).toEqual(ders.map((der) => packBody(der, 'deflate')));
    expect(faults).toHaveLength(nth + 1);
  }
  expect(faults[0]).toBeInstanceOf(Error);
  sent.mockClear();
  expect(bodies(await packer.pack([withBody(issuerDer)]))).toEqual([packBody(issuerDer, 'deflate')]);
  expect(threads()).toEqual([]);
});

it('ends threads that have nothing to do, and starts them again', async () => {
  const setTimer = jest.spyOn(globalThis, 'setTimeout');
  const packer = packing(1);
  const pack = async () => bodies(await packer.pack([withBody(issuerDer)]));
  const packed = [packBody(issuerDer, 'deflate')];
  expect(await pack()).toEqual(packed);
  const timers = setTimer.mock.calls.flatMap(([work, ms]) => (ms === 10_000 ? [work] : []));
  setTimer.mockRestore();
  const [first] = threads();
  const ended = new Promise((resolve) => first?.once('exit', resolve));
  timers.at(-1)?.();
  await ended;
  expect(await pack()).toEqual(packed);
  expect(threads()).toHaveLength(2);
  expect(faults).toEqual([]);
});

it('finishes running jobs when it is closed, and leaves no thread', async () => {
  const packer = packing(2);
  const packed = packer.pack(ders.map(withBody));
  await packer.close();
  expect(bodies(await packed)).toHaveLength(ders.length);
  expect(faults).toEqual([]);
});
