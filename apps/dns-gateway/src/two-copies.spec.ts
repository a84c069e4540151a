import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { startChild } from '@certwright/testing';
import { owner, record } from './testing/gateway-at-desec';
import { FakeDesec } from './providers/desec/testing/fake-desec';
import { RunningGateway } from './testing/running-gateway';

jest.setTimeout(60_000);

let desec: FakeDesec;
let one: RunningGateway;
let other: RunningGateway;
beforeAll(async () => {
  desec = await FakeDesec.open(['example.com']);
  const provider = { PROVIDER_URLS: `desec=${desec.server.url}` };
  one = await RunningGateway.start({ ...provider, AUDIT_INSTANCE: 'gateway-0' });
  other = await RunningGateway.copyOf(one, { ...provider, AUDIT_INSTANCE: 'gateway-1' });
});
afterAll(async () => {
  await other.child.stop();
  await one.dispose();
  await desec.server.close();
});

it('use the handles of each other, and a record that one added is removed by the other', async () => {
  const credentials = { type: 'bearer', token: desec.token };
  const { body: made } = await one.post('make_integration', { ...owner, credentials });
  const integrated = { ...owner, integration: made['integration'] };
  const added = await other.post('add_record', { ...integrated, record });
  expect(added.status).toBe(200);
  expect(desec.list(record.fqdn)).toHaveLength(1);
  // The same request again, through the other copy, adds nothing.
  expect((await one.post('add_record', { ...integrated, record })).status).toBe(200);
  expect(desec.list(record.fqdn)).toHaveLength(1);
  const removal = { ...integrated, record_handle: added.body['record_handle'] };
  expect((await one.post('remove_record', removal)).status).toBe(200);
  expect(desec.list(record.fqdn)).toHaveLength(0);
});

it('have an audit chain each in the same folder', () => {
  const files = readdirSync(one.auditFolder).filter((name) => name.endsWith('.jsonl'));
  expect(files.map((name) => name.replace(/\.\d+\.jsonl$/, '')).sort()).toEqual(['gateway-0', 'gateway-1']);
  for (const name of files) {
    const [opened, ...entries] = readFileSync(path.join(one.auditFolder, name), 'utf8').trim().split('\n');
    expect(opened).toContain(`"instance":"${name.replace(/\.\d+\.jsonl$/, '')}"`);
    expect(entries.length).toBeGreaterThan(0);
  }
});

it('refuse to start with the instance of a copy that runs, in one line that names the holder', async () => {
  const { command, args, env } = one.program({ AUDIT_INSTANCE: 'gateway-1' });
  const third = await startChild(command, { args, env });
  expect(await third.ended).toMatchObject({ code: 1 });
  const refusal = third
    .output()
    .split('\n')
    .filter((line) => line !== '' && !line.includes('"level":"info"'));
  expect(refusal).toEqual([
    expect.stringMatching(
      new RegExp(
        `^dns-gateway cannot start: AUDIT_DIR: The audit log of instance gateway-1 is written by process ${other.child.pid} on .*Give each`,
      ),
    ),
  ]);
});

it('one finishes its requests while it stops, and the other continues', async () => {
  const credentials = { type: 'bearer', token: desec.token };
  const { body: made } = await other.post('make_integration', { ...owner, credentials });
  const zones = { ...owner, integration: made['integration'] };
  expect(await other.child.stop()).toMatchObject({ code: 0 });
  expect((await one.post('get_zones', zones)).status).toBe(200);
});
