import { networkOf, ResponseLimit } from './response-limit';

const udp = (address: string) => ({ address, transport: 'udp' }) as const;

describe('responses over UDP', () => {
  it('are limited per network: every second query beyond the limit is sent to TCP', () => {
    let nowMs = 0;
    const limit = new ResponseLimit({ ratePerS: 5, nowMs: () => nowMs });
    const admissions = (count: number) =>
      Array.from({ length: count }, (_, n) => limit.admit(udp(`192.0.2.${n % 250}`)));
    expect(new Set(admissions(10))).toEqual(new Set(['answer']));
    expect(admissions(4)).toEqual(['drop', 'truncate', 'drop', 'truncate']);
    expect(limit.admit(udp('192.0.3.1'))).toBe('answer');
    expect(limit.admit({ address: '192.0.2.1', transport: 'tcp' })).toBe('answer');
    nowMs += 1_000;
    expect(admissions(6).filter((admission) => admission === 'answer')).toHaveLength(5);
  });

  it('are counted for a limited number of networks', () => {
    const limit = new ResponseLimit({ ratePerS: 1, maxNetworks: 2, nowMs: () => 0 });
    const admissionsOf = (address: string) => [1, 2, 3].map(() => limit.admit(udp(address)));
    expect(admissionsOf('192.0.2.1')).toEqual(['answer', 'answer', 'drop']);
    admissionsOf('198.51.100.1');
    expect(admissionsOf('192.0.2.1')).not.toContain('answer');
    admissionsOf('203.0.113.1');
    admissionsOf('233.252.0.1');
    expect(admissionsOf('192.0.2.1')).toContain('answer');
  });
});

it.each([
  ['192.0.2.77', '192.0.2.0/24'],
  ['::ffff:192.0.2.77', '192.0.2.0/24'],
  ['2001:db8:1:2345::7', '2001:db8:1:2300::/56'],
  ['2001:db8:1:23ff:ffff::', '2001:db8:1:2300::/56'],
  ['2001:db8:1:2400::7', '2001:db8:1:2400::/56'],
  ['::1', '0:0:0:0::/56'],
  ['', 'unknown'],
])('%j is counted as %s', (address, network) => expect(networkOf(address)).toBe(network));
