import { type Coverage, type IntegrationZone, type LiveRecord, placements, zoneFor } from './placement';

const openedAt = new Date('2026-11-20T12:00:00Z');
const zone = (integrationId: string, zoneName: string, also: Partial<IntegrationZone> = {}) => ({
  integrationId,
  zoneName,
  ok: true,
  createdAt: new Date(Number(integrationId)),
  ...also,
});
const record = (also: Partial<LiveRecord> = {}): LiveRecord => ({
  id: '1',
  integrationId: '1',
  dnsName: 'www.example.com',
  zoneName: 'example.com',
  state: 'standing',
  attemptedAt: null,
  addedAt: null,
  recordHandle: null,
  stoppedAt: null,
  problem: null,
  failures: 0,
  dueAt: null,
  linked: true,
  ...also,
});

describe('the zone of a name', () => {
  it.each<[string, string, readonly IntegrationZone[], [string, string] | null]>([
    [
      'the longest that fits',
      'a.b.example.com',
      [zone('1', 'example.com'), zone('2', 'b.example.com')],
      ['2', 'b.example.com'],
    ],
    ['the name itself', 'example.com', [zone('1', 'example.com')], ['1', 'example.com']],
    [
      'the oldest of two',
      'example.com',
      [zone('2', 'example.com'), zone('1', 'example.com')],
      ['1', 'example.com'],
    ],
    [
      'the one that works',
      'example.com',
      [zone('1', 'example.com', { ok: false }), zone('2', 'example.com')],
      ['2', 'example.com'],
    ],
    [
      'one that fails when none works',
      'example.com',
      [zone('1', 'example.com', { ok: false })],
      ['1', 'example.com'],
    ],
    [
      'the longest though it fails',
      'b.example.com',
      [zone('1', 'b.example.com', { ok: false }), zone('2', 'example.com')],
      ['1', 'b.example.com'],
    ],
    ['never one that merely ends alike', 'notexample.com', [zone('1', 'example.com')], null],
  ])('is %s', (_, dnsName, zones, expected) => {
    const found = zoneFor(dnsName, zones);
    expect(found && [found.integrationId, found.zoneName]).toEqual(expected);
  });
});

describe('a record is published', () => {
  const zones = [zone('1', 'example.com')];
  const placed = (coverage: Partial<Coverage> & { readonly record?: LiveRecord }) =>
    placements(
      ['www.example.com'],
      { openedAt },
      {
        zones,
        records: new Map(coverage.record ? [[coverage.record.dnsName, coverage.record]] : []),
        ...coverage,
      },
    );
  const at = (integrationId: string, zoneName = 'example.com') => [
    { dnsName: 'www.example.com', integrationId, zoneName },
  ];

  it('where an integration covers the name and none is there', () => {
    expect(placed({})).toEqual(at('1'));
    expect(placed({ zones: [] })).toEqual([]);
  });

  it('not again when the plan uses one, in any state', () => {
    for (const state of ['wanted', 'standing', 'unwanted'] as const) {
      expect(placed({ record: record({ state }) })).toEqual([]);
    }
  });

  it('for this plan too when another plan uses it, in the same place', () => {
    const younger = [zone('0', 'example.com'), ...zones];
    expect(placed({ record: record({ linked: false }), zones: younger })).toEqual(at('1'));
  });

  it.each<[string, readonly IntegrationZone[], unknown]>([
    ['was deleted, or has lost the zone', [zone('2', 'example.com')], at('2')],
    [
      'fails where another one works',
      [zone('1', 'example.com', { ok: false }), zone('2', 'example.com')],
      at('2'),
    ],
    ['has a longer zone by now', [...zones, zone('1', 'www.example.com')], at('1', 'www.example.com')],
    [
      'fails as the other one does',
      [zone('1', 'example.com', { ok: false }), zone('2', 'example.com', { ok: false })],
      [],
    ],
    ['was deleted and no other covers it', [], []],
  ])('elsewhere when its integration %s', (_, others, expected) => {
    expect(placed({ record: record(), zones: others })).toEqual(expected);
  });

  it('again for an issuance that was opened after the record was left alone', () => {
    const before = new Date(openedAt.getTime() - 1);
    const after = new Date(openedAt.getTime() + 1);
    expect(placed({ record: record({ state: 'wanted', stoppedAt: before }) })).toEqual(at('1'));
    expect(placed({ record: record({ state: 'wanted', stoppedAt: after }) })).toEqual([]);
    expect(placed({ record: record({ state: 'wanted', stoppedAt: before, dueAt: openedAt }) })).toEqual([]);
  });
});
