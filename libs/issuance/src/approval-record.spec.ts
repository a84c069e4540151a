import {
  type ApprovalRecord,
  nextRecordStep,
  type RecordChange,
  type RecordFinding,
  recordNotReady,
  recordStanding,
  whenAdded,
  whenFailed,
} from './approval-record';
import type { NameServerAnswer } from './outcome/approval-outcome';
import type { Outcome } from './outcome/outcome';

const now = new Date('2026-11-20T12:00:00Z');
const ago = (seconds: number) => new Date(now.getTime() - seconds * 1_000);
const ahead = (seconds: number) => ago(-seconds);

const fresh: ApprovalRecord = {
  id: '1',
  integrationId: '2',
  dnsName: 'www.example.com',
  state: 'wanted',
  attemptedAt: null,
  addedAt: null,
  recordHandle: null,
  stoppedAt: null,
  problem: null,
  failures: 0,
  dueAt: now,
};
const attempted = { ...fresh, attemptedAt: ago(10) };
const added = { ...attempted, addedAt: ago(8), recordHandle: 'handle' };
const standing = { ...added, state: 'standing' } as const;
const unwanted = { ...added, state: 'unwanted', addedAt: null } as const;

const servers = (answer: NameServerAnswer): Outcome => ({
  code: 'name_servers_differ',
  servers: { first: [answer], more: 0 },
});
const nothing = servers({ kind: 'absent', server: 'ns1', nxdomain: false });
const lagging = servers({ kind: 'absent', server: 'ns2', nxdomain: true });
const unknown = servers({ kind: 'no_address', server: 'ns1', detail: 'no address' });
const found = { first: ['other.example.net'], more: 0 };
const elsewhere = servers({ kind: 'other', server: 'ns1', type: 'CNAME', found });
const refused: Outcome = { code: 'dns_gateway_failed', fault: 'provider_auth_failed', saying: 'No.' };

const everywhere: RecordFinding = { seen: 'everywhere', absent: false, other: false, problem: null };
const absent: RecordFinding = { seen: 'nowhere', absent: true, other: false, problem: nothing };
const partly: RecordFinding = { ...absent, seen: 'somewhere', problem: lagging };
const silent: RecordFinding = { ...absent, absent: false, problem: unknown };
const replaced: RecordFinding = {
  ...absent,
  absent: false,
  other: true,
  problem: elsewhere,
};

const step = (record: ApprovalRecord, finding: RecordFinding | null = null, needed = true) =>
  nextRecordStep(record, { needed, finding }, now);
const saves = (change: RecordChange) => ({
  kind: 'save',
  change: expect.objectContaining(change) as unknown,
});

describe('a record that is needed', () => {
  it.each<[string, ApprovalRecord, RecordFinding | null, unknown]>([
    ['is looked for before anything is added', fresh, null, { kind: 'look' }],
    ['becomes standing without being added when it exists', fresh, everywhere, saves({ state: 'standing' })],
    ['is added when it is not there', fresh, absent, { kind: 'add' }],
    ['is added when it is not at every server', fresh, partly, { kind: 'add' }],
    ['replaces what existed before our first attempt', fresh, replaced, { kind: 'add' }],
    ['is added again when the response was lost', attempted, null, { kind: 'add' }],
    ['is looked for once it was added', added, null, { kind: 'look' }],
    [
      'becomes standing when every server returns it',
      added,
      everywhere,
      saves({ state: 'standing', dueAt: null }),
    ],
    ['waits for the servers that lag, and reports them', added, partly, saves({ problem: partly.problem })],
    [
      'waits for a server that is silent',
      { ...added, addedAt: ago(599) },
      { ...silent, seen: 'somewhere' },
      saves({ problem: silent.problem }),
    ],
    [
      'becomes standing without a server that has been silent for ten minutes, when all others have it',
      { ...added, addedAt: ago(600) },
      { ...silent, seen: 'somewhere' },
      saves({ state: 'standing' }),
    ],
    [
      'never becomes standing while a server denies it',
      { ...added, addedAt: ago(3_000) },
      partly,
      saves({ problem: partly.problem }),
    ],
    ['waits while the servers still have what it replaced', added, replaced, saves({ dueAt: ahead(2) })],
    [
      'is added again when no server has it after an hour',
      { ...added, addedAt: ago(3_600) },
      absent,
      { kind: 'add' },
    ],
    [
      'does not fight what replaced it before it stood',
      { ...added, addedAt: ago(3_600) },
      replaced,
      saves({ problem: replaced.problem }),
    ],
    ['is looked for again when it is in doubt', standing, null, { kind: 'look' }],
    ['stays when it is still there', standing, everywhere, saves({ state: 'standing', dueAt: null })],
    [
      'is wanted again when it is gone',
      standing,
      absent,
      saves({ state: 'wanted', addedAt: null, dueAt: now }),
    ],
    ['stays while no server responds', standing, silent, saves({ problem: silent.problem, dueAt: null })],
    [
      'is left alone when something else replaced it',
      standing,
      replaced,
      saves({
        ...{ state: 'wanted', stoppedAt: now, dueAt: null },
        problem: { code: 'record_replaced', found: elsewhere },
      }),
    ],
    ['continues once it is requested again', { ...added, stoppedAt: ago(60) }, null, { kind: 'add' }],
    ['is wanted again while it is being removed', unwanted, null, saves({ state: 'wanted', dueAt: now })],
  ])('%s', (_, record, finding, expected) => {
    expect(step(record, finding)).toEqual(expected);
  });
});

describe('a record that is not needed', () => {
  const settled = { ...unwanted, recordHandle: null, attemptedAt: ago(3_600) };
  it.each<[string, ApprovalRecord, RecordFinding | null, unknown]>([
    ['is removed at once when it was never attempted', fresh, null, saves({ state: 'removed' })],
    [
      'is left to the customer when it was theirs',
      { ...standing, attemptedAt: null, recordHandle: null },
      null,
      saves({ state: 'removed' }),
    ],
    ['is unwanted from then on', standing, null, saves({ state: 'unwanted', addedAt: null, dueAt: now })],
    ['is removed by its handle', unwanted, null, { kind: 'remove' }],
    ['is looked for when it has no handle', settled, null, { kind: 'look' }],
    ['is added for its handle', settled, everywhere, { kind: 'add' }],
    ['is added for its handle when no server has it yet', settled, absent, { kind: 'add' }],
    ['does not replace another tenant’s record', settled, replaced, saves({ state: 'removed' })],
    [
      'is waited for when what it replaced may still be served',
      { ...settled, attemptedAt: ago(600) },
      replaced,
      saves({ dueAt: ahead(3_000) }),
    ],
    [
      'is given up after a month of hourly tries',
      { ...unwanted, failures: 720, problem: refused },
      null,
      saves({ state: 'removed', problem: refused }),
    ],
  ])('%s', (_, record, finding, expected) => {
    expect(step(record, finding, false)).toEqual(expected);
  });
});

describe('recording the response of the gateway', () => {
  it('returns the handle and, for a wanted record, that it was added', () => {
    expect(whenAdded(attempted, 'new', now)).toMatchObject({
      recordHandle: 'new',
      addedAt: now,
      failures: 0,
    });
    expect(whenAdded({ ...unwanted, recordHandle: null }, 'new', now)).not.toHaveProperty('addedAt');
  });

  it.each([
    [0, null, 30],
    [1, null, 120],
    [2, null, 600],
    [3, null, 3_600],
    [9, null, 3_600],
    [0, 90, 90],
    [3, 90, 3_600],
  ])(
    'after %d failures and a Retry-After of %p is tried again after %d s',
    (failures, retryAfterS, waitS) => {
      const change = whenFailed({ ...added, failures }, refused, retryAfterS, now);
      expect(change).toEqual({ failures: failures + 1, problem: refused, dueAt: ahead(waitS) });
    },
  );
});

it.each<[Partial<ApprovalRecord>, string, string]>([
  [fresh, 'waiting', 'adding'],
  [added, 'waiting', 'added'],
  [{ ...added, problem: lagging }, 'waiting', 'added'],
  [{ ...fresh, failures: 1, problem: refused }, 'failing', 'failing'],
  [{ ...added, stoppedAt: now, problem: elsewhere }, 'failing', 'replaced'],
  [unwanted, 'waiting', 'removing'],
])('%j is %s, and a name waits for it at the stage %s', (also, standingWord, stage) => {
  const record = { ...fresh, ...also };
  expect(recordStanding(record)).toBe(standingWord);
  const { problem } = record;
  expect(recordNotReady(record)).toEqual({ code: 'record_not_ready', integrationId: '2', stage, problem });
});
