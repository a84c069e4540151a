import type { DnsRecord } from '../dns-provider';
import { ProviderFault } from '../provider-fault';
import { normalValue, presentationOf } from './presentation';
import {
  oneByOne,
  type Rrset,
  type RrsetChange,
  rrsetChanges,
  type RrsetPorts,
  type WriteOutcome,
} from './rrset-changes';

const zone = { id: '1', name: 'example.com' };
const fqdn = '_acme-challenge.example.com';
const txt = (value: string, ttlS: number | null = null): DnsRecord => ({ fqdn, type: 'TXT', value, ttlS });
const rest = () => Promise.resolve();

/** RRsets of one name, and the changes applied to them. */
class OneName implements RrsetPorts {
  readonly writes: RrsetChange[][] = [];
  outcome: () => WriteOutcome | Error = () => 'written';

  constructor(public rrsets: Rrset[] = []) {}

  read: RrsetPorts['read'] = async (_zone, _fqdn, types) =>
    this.rrsets.filter(({ type }) => types.includes(type));

  write: RrsetPorts['write'] = async (_zone, _fqdn, changes) => {
    this.writes.push([...changes]);
    const outcome = this.outcome();
    if (outcome instanceof Error) throw outcome;
    return outcome;
  };

  format = (record: DnsRecord) => presentationOf(record);
  normal: RrsetPorts['normal'] = (type, value) => normalValue(type, value);
}

const set = (type: Rrset['type'], values: readonly string[], ttlS = 3_600): Rrset => ({
  type,
  values,
  ttlS,
  version: 'v1',
});
const changesOf = (ports: OneName, signal = new AbortController().signal) =>
  rrsetChanges(ports, { rest }, signal);

describe('changes of whole RRsets', () => {
  it('foreign values are written back unchanged, with their TTL', async () => {
    const odd = 'bare "two"   "strings" \\065';
    const ports = new OneName([set('TXT', [odd])]);
    await changesOf(ports).add(zone, txt('ours', 60));
    expect(ports.writes).toEqual([
      [{ type: 'TXT', before: set('TXT', [odd]), after: { values: [odd, '"ours"'], ttlS: 3_600 } }],
    ]);
  });

  it('a TTL that the API does not report stays unchanged', async () => {
    const before = { ...set('TXT', ['"theirs"']), ttlS: null };
    const ports = new OneName([before]);
    await changesOf(ports).add(zone, txt('ours', 60));
    expect(ports.writes[0]?.[0]?.after).toEqual({ values: ['"theirs"', '"ours"'], ttlS: null });
  });

  it('a second CNAME is a conflict, and nothing is written', async () => {
    const ports = new OneName([set('CNAME', ['x.example.'])]);
    const added = changesOf(ports).add(zone, { fqdn, type: 'CNAME', value: 'y.example', ttlS: 60 });
    await expect(added).rejects.toMatchObject({ kind: 'conflict' });
    expect(ports.writes).toEqual([]);
  });

  it('a value in another spelling is the same value, and nothing is written', async () => {
    const ports = new OneName([set('TXT', ['"ou" "r\\115"'])]);
    await changesOf(ports).add(zone, txt('ours'));
    expect(ports.writes).toEqual([]);
  });

  it('removing the last value removes the RRset', async () => {
    const ports = new OneName([set('TXT', ['"ours"', 'ours'])]);
    await changesOf(ports).remove(zone, txt('ours'));
    expect(ports.writes[0]?.[0]?.after).toBeNull();
  });

  it('a replacement deletes the other types first, and changes nothing when already applied', async () => {
    const ports = new OneName([set('TXT', ['"a"']), set('CAA', ['0 issue "x"'])]);
    const record: DnsRecord = { fqdn, type: 'CNAME', value: 'x.example', ttlS: 300 };
    await changesOf(ports).replace(zone, record);
    expect(ports.writes[0]?.map(({ type, after }) => [type, after?.values ?? null])).toEqual([
      ['TXT', null],
      ['CAA', null],
      ['CNAME', ['x.example.']],
    ]);
    ports.rrsets = [set('CNAME', ['X.example'])];
    await changesOf(ports).replace(zone, record);
    expect(ports.writes).toHaveLength(1);
  });

  it('is decided again after a concurrent change', async () => {
    const ports = new OneName([set('TXT', ['"a"'])]);
    ports.outcome = () => {
      if (ports.writes.length > 1) return 'written';
      ports.rrsets = [set('TXT', ['"a"', '"b"'])];
      return 'stale';
    };
    await changesOf(ports).add(zone, txt('ours'));
    expect(ports.writes.at(-1)?.[0]?.after?.values).toEqual(['"a"', '"b"', '"ours"']);
  });

  it.each(['add', 'replace'] as const)(
    'a value that an attempt of %s wrote, although it seemed to fail, was created and did not exist before',
    async (change) => {
      const ports = new OneName();
      ports.outcome = () => {
        ports.rrsets = [set('TXT', ['"ours"'])];
        return 'stale';
      };
      expect(await changesOf(ports)[change](zone, txt('ours'))).toBe('created');
      expect(ports.writes).toHaveLength(1);
      expect(await changesOf(ports)[change](zone, txt('ours'))).toBe('existed');
    },
  );

  it('the outcome is unknown when an attempt may have written and the next one is rate limited', async () => {
    const ports = new OneName();
    const limited = new ProviderFault('rate_limited', 'Too many requests.', 30);
    ports.outcome = () => {
      ports.rrsets = [set('TXT', ['"ours"'])];
      ports.read = async () => await Promise.reject(limited);
      return 'stale';
    };
    await expect(changesOf(ports).add(zone, txt('ours'))).rejects.toMatchObject({
      kind: 'unavailable',
      retryAfterS: 30,
    });
    await expect(changesOf(ports).add(zone, txt('ours'))).rejects.toBe(limited);
  });

  it('gives up on a name that changes forever', async () => {
    const ports = new OneName();
    ports.outcome = () => 'stale';
    await expect(changesOf(ports).add(zone, txt('ours'))).rejects.toMatchObject({ kind: 'unavailable' });
    expect(ports.writes.length).toBeLessThan(50);
  });

  it.each([1, 2])(
    'a refusal of write %i of several counts as no change only if it is the first',
    async (nth) => {
      const ports = new OneName([set('TXT', ['"a"'])]);
      let writes = 0;
      ports.write = oneByOne(async () => {
        if ((writes += 1) === nth) throw new ProviderFault('rejected', 'no');
        return await Promise.resolve('written');
      });
      const record: DnsRecord = { fqdn, type: 'CNAME', value: 'x.example', ttlS: 300 };
      await expect(changesOf(ports).replace(zone, record)).rejects.toMatchObject({
        kind: nth === 1 ? 'rejected' : 'unavailable',
      });
    },
  );

  it("ends with the signal's reason", async () => {
    const controller = new AbortController();
    const ports = new OneName();
    const reason = new Error('too late');
    ports.outcome = () => {
      controller.abort(reason);
      return 'stale';
    };
    await expect(changesOf(ports, controller.signal).add(zone, txt('ours'))).rejects.toBe(reason);
  });

  it('a refusal beside a CNAME is a conflict, any other remains a refusal', async () => {
    const ports = new OneName([set('CNAME', ['x.example.'])]);
    ports.outcome = () => new ProviderFault('rejected', 'no');
    await expect(changesOf(ports).add(zone, txt('ours'))).rejects.toMatchObject({ kind: 'conflict' });
    ports.rrsets = [];
    await expect(changesOf(ports).add(zone, txt('ours'))).rejects.toMatchObject({ kind: 'rejected' });
  });
});
