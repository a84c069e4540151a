import type { DnsRecord } from '../dns-provider';
import { ProviderFault } from '../provider-fault';
import { recordChanges, type RecordPorts, type StoredRecord } from './record-changes';

const zone = { id: '1', name: 'example.com' };
const fqdn = '_acme-challenge.example.com';
const txt = (value: string): DnsRecord => ({ fqdn, type: 'TXT', value, ttlS: null });
const signal = new AbortController().signal;

/** How the API stores the given values. */
let asStored = (value: string): string => value;
afterEach(() => (asStored = (value) => value));

function oneName(...records: readonly (readonly [StoredRecord['type'], string])[]) {
  let there = records.map(([type, value], at): StoredRecord => ({ id: String(at), type, value }));
  const log: string[] = [];
  const ports: RecordPorts = {
    list: async () => there,
    create: async (_, { type, value }) => {
      log.push(`create ${type} ${value}`);
      const stored = { id: `new-${there.length}`, type, value: asStored(value) };
      there = [...there, stored];
      return stored;
    },
    delete: async (_, { id, type, value }) => {
      log.push(`delete ${type} ${value}`);
      there = there.filter((record) => record.id !== id);
    },
  };
  return { log, ports, changes: recordChanges(ports, signal), values: () => there.map(({ value }) => value) };
}

describe('changes of single records', () => {
  it('adding twice creates one record', async () => {
    const { log, changes } = oneName();
    await changes.add(zone, txt('ours'));
    await changes.add(zone, txt('ours'));
    expect(log).toEqual(['create TXT ours']);
  });

  it('removal deletes duplicates, and nothing else', async () => {
    const { changes, values } = oneName(['TXT', 'ours'], ['TXT', 'theirs'], ['TXT', 'ours'], ['CAA', 'ours']);
    await changes.remove(zone, txt('ours'));
    expect(values()).toEqual(['theirs', 'ours']);
  });

  it('a replacement clears the name before it creates, and keeps a matching record', async () => {
    const first = oneName(['TXT', 'old'], ['NS', 'ns.example']);
    await first.changes.replace(zone, { fqdn, type: 'CNAME', value: 'x.example', ttlS: 60 });
    expect(first.log).toEqual(['delete TXT old', 'delete NS ns.example', 'create CNAME x.example']);
    const second = oneName(['TXT', 'old'], ['TXT', 'ours'], ['TXT', 'ours']);
    await second.changes.replace(zone, txt('ours'));
    expect(second.log).toEqual(['delete TXT old', 'delete TXT ours']);
  });

  it.each(['conflict', 'rejected'] as const)(
    'a refusal (%s) of what is there meanwhile is a success',
    async (kind) => {
      const others = oneName();
      const refusing = recordChanges(
        {
          ...others.ports,
          create: async (...what) => {
            await others.ports.create(...what);
            throw new ProviderFault(kind, 'It exists.');
          },
        },
        signal,
      );
      await refusing.add(zone, txt('ours'));
      expect(others.values()).toEqual(['ours']);
    },
  );

  it('a refusal remains one when the record does not exist', async () => {
    const { ports } = oneName(['TXT', 'theirs']);
    const create = () => Promise.reject(new ProviderFault('rejected', 'No.'));
    const added = recordChanges({ ...ports, create }, signal).add(zone, txt('ours'));
    await expect(added).rejects.toMatchObject({ kind: 'rejected', message: 'No.' });
  });

  it('a refusal after deletions does not count as no change', async () => {
    const refused = () => Promise.reject(new ProviderFault('rejected', 'No.'));
    const replacing = oneName(['TXT', 'theirs']);
    const replaced = recordChanges({ ...replacing.ports, create: refused }, signal).replace(
      zone,
      txt('ours'),
    );
    await expect(replaced).rejects.toMatchObject({ kind: 'unavailable', message: 'No.' });
    expect(replacing.values()).toEqual([]);

    const removing = oneName(['TXT', 'ours'], ['TXT', 'ours']);
    let deletions = 0;
    const remove: RecordPorts['delete'] = async (...what) =>
      (deletions += 1) > 1 ? await refused() : await removing.ports.delete(...what);
    const removed = recordChanges({ ...removing.ports, delete: remove }, signal).remove(zone, txt('ours'));
    await expect(removed).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(
      recordChanges({ ...removing.ports, delete: refused }, signal).remove(zone, txt('ours')),
    ).rejects.toMatchObject({ kind: 'rejected' });
  });

  it('a value that is stored as another one is removed and reported as refused', async () => {
    asStored = (value) => value.replace(/\\/g, '');
    const { log, changes, values } = oneName(['TXT', 'theirs']);
    await expect(changes.add(zone, txt('a\\b'))).rejects.toMatchObject({ kind: 'rejected' });
    expect(log).toEqual(['create TXT a\\b', 'delete TXT ab']);
    expect(values()).toEqual(['theirs']);
  });

  it('a CNAME has no other records beside it', async () => {
    const beside = oneName(['CNAME', 'x.example']);
    await expect(beside.changes.add(zone, txt('ours'))).rejects.toMatchObject({ kind: 'conflict' });
    expect(beside.log).toEqual([]);
  });
});
