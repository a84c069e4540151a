import { loopbackHint } from './loopback.mjs';

it('says nothing where specs can listen on every address', async () => {
  expect(await loopbackHint('127.0.0.1')).toBeNull();
});

it('says how to add the addresses where the system does not have them', async () => {
  // TEST-NET-1 (RFC 5737): no machine has it.
  expect(await loopbackHint('192.0.2.1')).toMatch(/will fail.*\n {2}for n in .* sudo ifconfig lo0 alias 127/);
});
